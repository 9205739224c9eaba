"""The server and accounts of a suite, and the texts that are stored there."""

import os
import signal
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import NamedTuple

from evals.client import Client, progress
from evals.datasets.collection import Collection, Text
from tools.runtime.client_settings import PREFIX
from tools.runtime.launch import ServerProcess, server_process

_OWN = {"LOG_LEVEL": "warning", "RATE_LIMIT_ENABLED": "false", "ACCESS_TOKEN_EXPIRE_MINUTES": "1440"}


def served(folder: Path, settings: Mapping[str, str]) -> AbstractContextManager[ServerProcess]:
    """Serve a data folder with these settings, without the user's environment."""
    blank = {name: "" for name in os.environ if name.startswith(PREFIX)}
    own = {f"{PREFIX}{name}": value for name, value in _OWN.items()}
    return server_process(folder, environ={**blank, **own, **settings})


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `KeyboardInterrupt` on SIGTERM in the block, in the main thread only, so that servers are stopped."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Place(NamedTuple):
    """One haystack: the token of its organization's account, and the text ids by record id."""

    token: str
    texts: Mapping[str, str]


LOADERS = 2
"""Concurrent haystacks; the texts of one are sequential."""
BATCH = 25
"""Texts of a request: the longest ones, as they are sent, stay below the server's limit of 8 MB."""


def load(address: str, collection: Collection) -> dict[str, Place]:
    """Store every haystack; return the place of each."""
    by_haystack: dict[str, list[Text]] = {}
    for text in collection.texts:
        by_haystack.setdefault(text.haystack, []).append(text)
    progress(f"{collection.name}: storing {len(collection.texts)} texts")

    def store(item: tuple[str, Sequence[Text]]) -> tuple[str, Place]:
        with Client(address) as anybody, anybody.signed_up(f"eval-{uuid.uuid4().hex[:16]}") as client:
            return item[0], Place(client.token, _stored(client, collection, item[1]))

    with ThreadPool(LOADERS) as pool:
        return dict(pool.imap_unordered(store, by_haystack.items()))


def _stored(client: Client, collection: Collection, texts: Sequence[Text]) -> dict[str, str]:
    ids: dict[str, str] = {}
    if collection.door == "recall":
        for text in texts:
            memory = {"raw_content": text.content, "title": text.name, "metadata": hints(text)}
            ids[client.post("/api/memory/raw", memory)["id"]] = text.id
    else:
        for first in range(0, len(texts), BATCH):
            batch = texts[first : first + BATCH]
            entities = [
                {"name": text.name, "content": text.content, "entity_type": collection.entity_type,
                 "metadata": hints(text)} for text in batch
            ]  # fmt: skip
            made = client.post("/api/entities/bulk", {"entities": entities})
            ids |= {entity["id"]: text.id for entity, text in zip(made["entities"], batch, strict=True)}
    return ids


def hints(text: Text) -> Mapping[str, object]:
    """Return the metadata to store, without absent fields."""
    found = {
        "thread_id": text.thread_id, "ordinal": text.ordinal, "captured_at": text.captured_at, "speaker": text.speaker,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}
