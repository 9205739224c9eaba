"""The arms: the ways of asking that are compared, each by options that any client or operator has."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from types import MappingProxyType
from typing import Any

from evals.client import Client
from evals.datasets.collection import Collection, Door
from evals.harness.places import Place
from stores.errors import EngrainError

LIMIT = 10
"""Results asked for: what agents get unless they say otherwise."""
FAULTY_S = 120.0
"""How long a part that cannot answer is waited for: after a start, indexes are opened beside the first questions."""
_AGAIN_S = 0.25
_PAGE = 50
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    took_ms: float | None
    score: float | None = None
    """Of the best hit, 0 where there is none."""
    faults: Mapping[str, str] = field(default_factory=dict)
    """What could not answer, and a word for why: the others answered without it."""


Asker = Callable[[Client, Place, Collection, str], Answer]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of asking."""

    name: str
    summary: str
    doors: Mapping[Door, Asker]
    environ: Mapping[str, str] = field(default_factory=dict)
    """Settings of the server that it needs; it cannot be asked of a server that is given by its address."""
    scores: bool = True
    """Whether its scores compare between questions, so that they tell whether something answers one."""


def _as_whole(ask: Asker) -> Asker:
    """Let an asker ask again until every part of the search has answered: without one of them it is another arm.

    It raises EngrainError where one of them does not come.
    """

    @wraps(ask)
    def asked(client: Client, place: Place, collection: Collection, query: str) -> Answer:
        start = time.monotonic()
        while (answer := ask(client, place, collection, query)).faults:
            if time.monotonic() - start > FAULTY_S:
                faults = ", ".join(f"{name} ({why})" for name, why in sorted(answer.faults.items()))
                raise EngrainError(
                    f"For {FAULTY_S:.0f} s now the server answers without a part of its search: {faults}."
                    " What is asked would measure that. The log of the server says why."
                )
            time.sleep(_AGAIN_S)
        return answer

    return asked


@_as_whole
def _recall(client: Client, place: Place, _: Collection, query: str) -> Answer:
    answer = client.post("/api/memory/raw/recall", {"query": query, "limit": LIMIT, **place.scope})
    return _answer(answer["memories"], "raw_content", client.took_ms, answer["degraded"])


def searched(options: Mapping[str, Any] = _NOTHING, *, text: str = "content") -> Asker:
    """Ask through search, with these options beside the query; `text` is the field that a report shows of a hit."""

    @_as_whole
    def ask(client: Client, place: Place, collection: Collection, query: str) -> Answer:
        body = {"query": query, "limit": LIMIT, **_among(collection, place), **options}
        return _found(client.post("/api/search", body), text, client.took_ms)

    return ask


@_as_whole
def _mcp(client: Client, place: Place, collection: Collection, query: str) -> Answer:
    """The tool `search`, as agents call it; there is none for recall."""
    answer = client.tool("search", {"query": query, "limit": LIMIT, **_among(collection, place)})
    return _found(answer, "content", client.took_ms)


@_as_whole
def _naive(client: Client, place: Place, collection: Collection, query: str) -> Answer:
    """The evidence of a context pack; the pack is made as well, so that the time is not that of a search."""
    types = ["raw_memory"] if collection.door == "recall" else [collection.entity_type]
    evidence = {"types": types, "limit": LIMIT, "retrieval_mode": "naive"}
    answer = client.post("/api/context/pack", {"goal": query, "limit": 1, "evidence": evidence, **place.filter})
    return _found(answer["evidence"], "content", None)


def _lane(name: str) -> Asker:
    """The order of one lane, as diagnostics tell it of each candidate; pages are read until its first ten are known."""

    @_as_whole
    def ask(client: Client, place: Place, collection: Collection, query: str) -> Answer:
        texts: dict[int, tuple[str, str]] = {}
        faults: dict[str, str] = {}
        offset, more = 0, True
        while more and not set(range(1, LIMIT + 1)) <= texts.keys():
            page = client.post(
                "/api/search",
                {
                    "query": query, "limit": _PAGE, "offset": offset, "include_retrieval_diagnostics": True,
                    "boost_recent": False, "record_exposure": False,
                    **_among(collection, place),
                },
            )  # fmt: skip
            faults |= _faults(page)
            details = page["filters"]["graph_retrieval"]["source_details"]
            for hit in page["results"]:
                rank = details.get(hit["id"], {}).get("ranks", {}).get(name)
                if rank is not None:
                    texts[rank] = (hit["id"], hit["content"])
            offset, more = offset + _PAGE, page["has_more"]
        best = [texts[rank] for rank in sorted(texts)[:LIMIT]]
        return Answer(tuple(one for one, _ in best), tuple(text for _, text in best), None, faults=faults)

    return ask


def _among(collection: Collection, place: Place) -> dict[str, Any]:
    """What keeps a search to the raw memories of a place, or to its entities."""
    return {"types": ["raw_memory"], **place.scope} if collection.door == "recall" else place.filter


def _found(page: Mapping[str, Any], text: str, took_ms: float | None) -> Answer:
    """The answer of a search."""
    return _answer(page["results"], text, took_ms, _faults(page))


def _faults(page: Mapping[str, Any]) -> Mapping[str, str]:
    return {each["source"]: each["error_type"] for each in page["filters"].get("search_source_failures", ())}


def _answer(hits: Sequence[Mapping[str, Any]], text: str, took_ms: float | None, faults: Mapping[str, str]) -> Answer:
    score = hits[0]["score"] if hits else 0.0
    return Answer(tuple(hit["id"] for hit in hits), tuple(hit[text] for hit in hits), took_ms, score, faults)


_PLAIN = searched()
_ALL: tuple[Arm, ...] = (
    Arm("fast", "as any client gets it", {"recall": _recall, "search": _PLAIN}),
    Arm("search", "raw memories through search instead of recall", {"recall": _PLAIN}),
    Arm("mcp", "the tool search, over MCP", {"recall": _mcp, "search": _mcp}),
    Arm("naive", "words and meaning joined by ranks alone", {"recall": _naive, "search": _naive}, scores=False),
    Arm(
        "dense", "the order of the lane for meaning alone",
        dict.fromkeys(("recall", "search"), _lane("vector")), scores=False,
    ),
    Arm(
        "without-graph", "use_enhanced=false; raw memories through search",
        dict.fromkeys(("recall", "search"), searched({"use_enhanced": False})),
    ),
    Arm(
        "without-recency", "boost_recent=false; raw memories through search",
        dict.fromkeys(("recall", "search"), searched({"boost_recent": False})),
    ),
    Arm(
        "lexical", "words alone: a server without a model for meaning", {"recall": _recall, "search": _PLAIN},
        {"ENGRAIN_EMBEDDING_PROVIDER": "none"},
    ),
)  # fmt: skip
ARMS: Mapping[str, Arm] = {arm.name: arm for arm in _ALL}


def chosen(names: Sequence[str], *, url: str | None) -> list[Arm]:
    """Return the arms of these names, those with the server's own settings first.

    Raises:
        EngrainError: None is named, there is no such arm, or a server elsewhere would have to be started otherwise.
    """
    if not names:
        raise EngrainError("--arm: it names no arm; leave it out to ask as any client does, or take `all`.")
    if unknown := [name for name in names if name not in ARMS]:
        raise EngrainError(f"There is no arm {', '.join(unknown)}; there are {', '.join(ARMS)}.")
    arms = [ARMS[name] for name in dict.fromkeys(names)]
    if url and (fixed := [arm for arm in arms if arm.environ]):
        raise EngrainError(
            f"The arm {fixed[0].name} needs a server that is started with "
            f"{', '.join(f'{name}={value}' for name, value in fixed[0].environ.items())}; the one at {url} is as it is."
            " Leave the arm out, or leave --url out to have a server started."
        )
    return sorted(arms, key=lambda arm: bool(arm.environ))
