"""Measures retrieval: loads a labelled collection into a throw-away data folder and asks the product's own search."""

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import anyio

from auth.principal import Principal
from evals.datasets import Collection, Question, Text
from evals.metrics import METRICS, Interval, bootstrap
from evals.timing import Spread, spread
from stores.errors import EngrainError
from tools.app import App, open_app
from tools.create import BULK_LIMIT
from tools.entity_models import EntityFields
from tools.logs import LogRing
from tools.operation import Call
from tools.search import SearchRequest, search
from tools.settings import Settings
from tools.storing import Created, store

Lanes = Literal["words only", "all lanes"]
DEEPEST = 10
"""Ranks that the metrics look at."""
_PAGE = 50
_PASSWORD = "throw-away-account"  # noqa: S105 - it guards a folder that is deleted within minutes
_LOADING_LIMIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Answered:
    """What one question found, and how long it took."""

    question: Question
    ranking: tuple[str, ...]
    took_ms: float


@dataclass(frozen=True, slots=True)
class LaneResult:
    """One collection through one configuration of the pipeline."""

    lanes: Lanes
    metrics: Mapping[str, Interval]
    by_kind: Mapping[str, Mapping[str, Interval]]
    search_ms: Spread


@dataclass(frozen=True, slots=True)
class CollectionResult:
    """One collection: its size, and how each configuration did."""

    name: str
    unit: str
    texts: int
    questions: int
    loading_s: float
    results: Sequence[LaneResult] = field(default_factory=tuple)


async def measure(collection: Collection) -> CollectionResult:
    """Load a collection, wait until every index shows it, and ask all its questions with and without vectors."""
    with tempfile.TemporaryDirectory(prefix="engrain-eval-") as folder:
        settings = Settings(data_dir=Path(folder), log_level="error")
        async with open_app(settings, logs=LogRing()) as app:
            start = time.perf_counter()
            loaded = await load(app, collection.texts)
            loading_s = time.perf_counter() - start
            results = [
                _result("words only", await ask(replace(app, embedder=None), loaded, collection.questions)),
                _result("all lanes", await ask(app, loaded, collection.questions)),
            ]
    return CollectionResult(
        name=collection.name,
        unit=collection.unit,
        texts=len(collection.texts),
        questions=len(collection.questions),
        loading_s=round(loading_s, 1),
        results=results,
    )


@dataclass(frozen=True, slots=True)
class Haystack:
    """One organization, and which text each of its entities is."""

    caller: Principal
    texts: Mapping[str, str]


async def load(app: App, texts: Iterable[Text]) -> dict[str, Haystack]:
    """Store texts, each haystack in an organization of its own, and wait until every index shows them."""
    by_haystack: dict[str, list[Text]] = {}
    for text in texts:
        by_haystack.setdefault(text.haystack, []).append(text)
    return {name: await _load_haystack(app, number, found) for number, (name, found) in enumerate(by_haystack.items())}


async def _load_haystack(app: App, number: int, texts: Sequence[Text]) -> Haystack:
    signed = await anyio.to_thread.run_sync(app.accounts.sign_up, f"eval{number}@localhost.test", _PASSWORD, "Eval")
    caller = await anyio.to_thread.run_sync(app.accounts.authenticate, signed.access_token)
    ids: dict[str, str] = {}
    created = Created((), 0)
    for first in range(0, len(texts), BULK_LIMIT):
        batch = texts[first : first + BULK_LIMIT]
        fields = [EntityFields(name=text.name, content=text.content, entity_type="note") for text in batch]
        created = await store(app, Call(caller), fields, sync=False, deferred=True)
        ids |= {entity.id: text.id for entity, text in zip(created.entities, batch, strict=True)}
    await _until_whole(app, caller, created)
    return Haystack(caller, ids)


async def _until_whole(app: App, caller: Principal, created: Created) -> None:
    ids = [entity.id for entity in created.entities]
    deadline = time.monotonic() + _LOADING_LIMIT_S
    while pending := await app.indexer.applied_within(caller.organization_id, created.sequence, ids, 20.0):
        if time.monotonic() > deadline:
            raise EngrainError(f"The indexes {', '.join(sorted(pending))} do not catch up.")


async def ask(app: App, haystacks: Mapping[str, Haystack], questions: Sequence[Question]) -> list[Answered]:
    """Ask questions, one after the other."""
    return [await _answer(app, haystacks[question.haystack], question) for question in questions]


async def _answer(app: App, haystack: Haystack, question: Question) -> Answered:
    """Read pages until enough texts that compete have come; the time is that of the first page."""
    found: list[str] = []
    took_ms = 0.0
    offset = 0
    while len(found) < DEEPEST:
        request = SearchRequest(
            query=question.text, limit=_PAGE, offset=offset, include_content=False, include_raw_memory=False,
            record_exposure=False, boost_recent=False,
        )  # fmt: skip
        start = time.perf_counter()
        page = await search(app, Call(haystack.caller), request)
        took_ms = took_ms or (time.perf_counter() - start) * 1000
        texts = (haystack.texts[hit.id] for hit in page.results)
        found += [text for text in texts if question.among is None or text in question.among]
        offset += _PAGE
        if not page.has_more:
            break
    return Answered(question, tuple(found[:DEEPEST]), took_ms)


def _result(lanes: Lanes, answered: Sequence[Answered]) -> LaneResult:
    kinds = sorted({answer.question.kind for answer in answered} - {""})
    return LaneResult(
        lanes=lanes,
        metrics=_figures(answered),
        by_kind={kind: _figures([answer for answer in answered if answer.question.kind == kind]) for kind in kinds},
        search_ms=spread([answer.took_ms for answer in answered]),
    )


def _figures(answered: Sequence[Answered]) -> dict[str, Interval]:
    groups = [answer.question.group or answer.question.id for answer in answered]
    return {
        name: bootstrap([metric(answer.ranking, answer.question.grades) for answer in answered], groups)
        for name, metric in METRICS.items()
    }
