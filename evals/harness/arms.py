"""Arms: ways of asking, by options that any client or operator has, and a reference that needs no server."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from evals.client import Client
from evals.datasets.collection import Collection, Door, Question
from stores.embedding.builtin import BuiltinEmbedder, Vectors
from stores.embedding.workers import Workers
from stores.errors import EngrainError

LIMIT = 10
FAULTY_S = 120.0
"""Seconds to retry faulty answers: after a start, indexes open during the first questions."""
_AGAIN_S = 0.25
_PAGE = 50


@dataclass(frozen=True, slots=True)
class Answer:
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    took_ms: float | None
    score: float | None = None
    """Score of the best hit; 0 without one."""
    faults: Mapping[str, str] = field(default_factory=dict)
    """Reasons by failed part of the search."""


Asker = Callable[[Client, Collection, Question], Answer]


@dataclass(frozen=True, slots=True)
class Arm:
    name: str
    summary: str
    doors: Mapping[Door, Asker]
    environ: Mapping[str, str] = field(default_factory=dict)
    scores: bool = True
    """Scores compare between questions."""

    def ask(self, client: Client, collection: Collection, question: Question) -> Answer:
        """Ask again while a part of the search fails; EngrainError after two minutes."""
        start = time.monotonic()
        while (answer := self.doors[collection.door](client, collection, question)).faults:
            if time.monotonic() - start > FAULTY_S:
                faults = ", ".join(f"{name} ({why})" for name, why in sorted(answer.faults.items()))
                raise EngrainError(
                    f"For {FAULTY_S:.0f} s the server has answered without a part of its search: {faults}."
                    " See its log for the reason."
                )
            time.sleep(_AGAIN_S)
        return answer


def _recall(client: Client, _: Collection, question: Question) -> Answer:
    answer = client.post("/api/memory/raw/recall", {"query": question.text, "limit": LIMIT})
    return _answer(answer["memories"], "raw_content", client.took_ms, answer["degraded"])


def _search(client: Client, collection: Collection, question: Question) -> Answer:
    body = {"query": question.text, "limit": LIMIT, **_among(collection)}
    return _found(client.post("/api/search", body), client.took_ms)


def _mcp(client: Client, collection: Collection, question: Question) -> Answer:
    answer = client.tool("search", {"query": question.text, "limit": LIMIT, **_among(collection)})
    return _found(answer, client.took_ms)


def _naive(client: Client, collection: Collection, question: Question) -> Answer:
    types = ["raw_memory"] if collection.door == "recall" else [collection.entity_type]
    evidence = {"types": types, "limit": LIMIT, "retrieval_mode": "naive"}
    answer = client.post("/api/context/pack", {"goal": question.text, "limit": 1, "evidence": evidence})
    return _found(answer["evidence"], None)


def _dense(client: Client, collection: Collection, question: Question) -> Answer:
    body = {
        "query": question.text, "limit": _PAGE, "include_retrieval_diagnostics": True, "boost_recent": False,
        "record_exposure": False, **_among(collection),
    }  # fmt: skip
    texts: dict[int, tuple[str, str]] = {}
    faults: dict[str, str] = {}
    offset, more = 0, True
    while more and not set(range(1, LIMIT + 1)) <= texts.keys():
        page = client.post("/api/search", {**body, "offset": offset})
        faults |= _faults(page)
        details = page["filters"]["graph_retrieval"]["source_details"]
        for hit in page["results"]:
            rank = details.get(hit["id"], {}).get("ranks", {}).get("vector")
            if rank is not None:
                texts[rank] = (hit["id"], hit["content"])
        offset, more = offset + _PAGE, page["has_more"]
    best = [texts[rank] for rank in sorted(texts)[:LIMIT]]
    return Answer(tuple(one for one, _ in best), tuple(text for _, text in best), None, faults=faults)


def _first256(_: Client, collection: Collection, question: Question) -> Answer:
    texts = [text for text in collection.texts if text.haystack == question.haystack]
    vectors = _beginnings(tuple(f"{text.name}\n{text.content}".lstrip() for text in texts))
    scores = vectors @ _embedder().embed_query(question.text)
    best = [texts[number] for number in np.argsort(-scores, kind="stable")[:LIMIT]]
    return Answer(tuple(text.id for text in best), tuple(text.content for text in best), None, float(scores.max()))


@cache
def _beginnings(texts: tuple[str, ...]) -> Vectors:
    return _embedder().embed_documents(texts)


@cache
def _embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder(Workers(os.cpu_count() or 1))


def _among(collection: Collection) -> dict[str, Any]:
    return {"types": ["raw_memory"]} if collection.door == "recall" else {}


def _found(page: Mapping[str, Any], took_ms: float | None) -> Answer:
    return _answer(page["results"], "content", took_ms, _faults(page))


def _faults(page: Mapping[str, Any]) -> Mapping[str, str]:
    # Over MCP the answer names them in words.
    failures = page.get("filters", {}).get("search_source_failures", ())
    told = dict.fromkeys(page.get("not_searched", ()), "fault")
    return told | {each["source"]: each["error_type"] for each in failures}


def _answer(hits: Sequence[Mapping[str, Any]], text: str, took_ms: float | None, faults: Mapping[str, str]) -> Answer:
    score = hits[0]["score"] if hits else 0.0
    return Answer(tuple(hit["id"] for hit in hits), tuple(hit[text] for hit in hits), took_ms, score, faults)


def _both(ask: Asker) -> Mapping[Door, Asker]:
    return {"recall": ask, "search": ask}


_ALL: tuple[Arm, ...] = (
    Arm("fast", "as any client gets it", {"recall": _recall, "search": _search}),
    Arm("mcp", "the tool search, over MCP", _both(_mcp)),
    Arm("naive", "words and meaning joined by ranks alone", _both(_naive), scores=False),
    Arm("dense", "the order of the lane for meaning alone", _both(_dense), scores=False),
    Arm("first256", "meaning of the first 256 tokens alone, computed beside the server", _both(_first256)),
    Arm(
        "lexical", "words alone: a server without a model for meaning", {"recall": _recall, "search": _search},
        {"ENGRAIN_EMBEDDING_PROVIDER": "none"},
    ),
)  # fmt: skip
ARMS: Mapping[str, Arm] = {arm.name: arm for arm in _ALL}


def chosen(names: Sequence[str]) -> list[Arm]:
    """Return the named arms, those with default settings first, or raise EngrainError."""
    if not names or (unknown := [name for name in names if name not in ARMS]):
        raise EngrainError(f"There is no arm {', '.join(unknown) if names else repr('')}; there are {', '.join(ARMS)}.")
    return sorted((ARMS[name] for name in dict.fromkeys(names)), key=lambda arm: bool(arm.environ))
