"""Stores the texts of a collection through the public surface, in their own order, and waits until all can be found."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from multiprocessing.pool import ThreadPool

from evals.client import Client, encoded
from evals.datasets.collection import Collection, Text
from evals.harness.places import Place, opened
from evals.harness.server import Target
from evals.harness.waiting import until_whole
from evals.progress import Advance, progress
from evals.runs import Journal
from evals.runs.journal import LOADING
from tools.entity_models import BULK_LIMIT

LOADERS = 2
"""Haystacks that are stored at once; the texts of one are stored one after the other."""
BATCH_BYTES = 4 * 1024 * 1024
"""Half of what a server takes as one request."""


def load(journal: Journal, target: Target, key: str, collection: Collection) -> tuple[dict[str, Place], float | None]:
    """Store what is not stored yet; return where each haystack lies, and the seconds that all of it took.

    Those are not known where it was interrupted: of what went on then nobody has the time.
    """
    loading = f"{LOADING}-{collection.name}"
    start, before = time.perf_counter(), journal.note(loading)
    if not before:
        journal.keep(loading, {"begun": True})
    by_haystack: dict[str, list[Text]] = {}
    for text in collection.texts:
        by_haystack.setdefault(text.haystack, []).append(text)
    note = f"places-{collection.name}"
    places = {name: Place.of(plain) for name, plain in journal.note(note).items()}
    missing = [(name, texts) for name, texts in by_haystack.items() if name not in places]
    stored = sum(len(by_haystack[name]) for name in places)
    with progress(f"{collection.name}: storing texts", len(collection.texts), stored) as advance:

        def store(item: tuple[str, Sequence[Text]]) -> tuple[str, Place]:
            with Client(target.address) as client:
                return item[0], _stored(client, opened(target, client, key), collection, item[1], advance)

        def made() -> Iterator[tuple[str, Place]]:
            # One first: where nobody has an account yet, it is refused before there are others.
            yield from map(store, missing[:1])
            with ThreadPool(LOADERS) as pool:
                yield from pool.imap_unordered(store, missing[1:])

        for name, place in made():
            places[name] = place
            journal.keep(note, {name: each.plain() for name, each in places.items()})
    until_whole(target, key, places, collection.name)
    took_s: float | None = before.get("seconds") if before else time.perf_counter() - start
    journal.keep(loading, {"seconds": took_s})
    return places, took_s


def _stored(client: Client, place: Place, collection: Collection, texts: Sequence[Text], advance: Advance) -> Place:
    ids: dict[str, str] = {}
    if collection.door == "recall":
        for text in texts:
            ids[client.post("/api/memory/raw", _memory(place, text))["id"]] = text.id
            advance(1)
    else:
        for batch in batches(texts):
            made = client.post("/api/entities/bulk", {"entities": [_entity(place, collection, text) for text in batch]})
            ids |= {entity["id"]: text.id for entity, text in zip(made["entities"], batch, strict=True)}
            advance(len(batch))
    return replace(place, texts=ids)


def batches(texts: Sequence[Text]) -> Iterator[Sequence[Text]]:
    """Divide texts into as many as one request may hold, by number and by size."""
    batch: list[Text] = []
    size = 0
    for text in texts:
        own = len(encoded({"name": text.name, "content": text.content, **_hints(text)}))
        if batch and (len(batch) == BULK_LIMIT or size + own > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += own
    if batch:
        yield batch


def _memory(place: Place, text: Text) -> Mapping[str, object]:
    return {"raw_content": text.content, "title": text.name, "metadata": _hints(text), **place.scope}


def _entity(place: Place, collection: Collection, text: Text) -> Mapping[str, object]:
    fields = {"name": text.name, "content": text.content, "entity_type": collection.entity_type}
    return {**fields, "metadata": {**place.metadata, **_hints(text)}}


def _hints(text: Text) -> Mapping[str, object]:
    """The capture hints that any client may send, and nothing of the data set's own."""
    hints = {"thread_id": text.thread_id, "ordinal": text.ordinal, "captured_at": text.captured_at}
    return {name: value for name, value in hints.items() if value is not None}
