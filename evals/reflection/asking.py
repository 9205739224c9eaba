"""Has a server read notes and judge pairs of sentences; its answers take the form in which labels are compared."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evals.client import Client
from evals.harness.server import Target, served
from evals.reflection.labels import Pair
from tools.entity_models import NAME_LIMIT
from tools.reflection import Finding

_ANSWERS = {"duplicate": ("duplicate",), "contradiction": ("contradiction", "supersession")}
"""Kinds of findings that say yes to what a pair asks."""
LIMIT = 25
"""The most candidates of an answer; the longest note has fewer."""


@contextmanager
def reader(folder: Path, environ: Mapping[str, str], *, goes_on: bool) -> Iterator[tuple[Target, Client]]:
    """Serve an empty folder, or that of an earlier try, and yield a client that has read something to warm up."""
    if not goes_on:
        shutil.rmtree(folder, ignore_errors=True)
    enter = Client.signed_in if goes_on else Client.signed_up
    with served(folder, environ, None) as target, Client(target.address) as client, enter(client, "ada") as ada:
        asked(ada, "We decided to warm up.")
        yield target, ada


def read(client: Client, notes: str) -> list[Finding]:
    """Have notes read, of which nothing is kept."""
    return [_finding(each) for each in asked(client, notes)["candidates"]]


def asked(client: Client, notes: str, **options: Any) -> dict[str, Any]:
    """Have notes read; the whole answer."""
    body = {"content": notes, "persist_source": False, "limit": LIMIT, **options}
    return client.post("/api/context/reflect", body)


def judged(client: Client, pair: Pair) -> bool:
    """Store the old sentence of a pair in a project of its own, have the new one read there, and say what came of it.

    A label says what the new one is, so that a finding is made of it whatever its words.
    """
    project = client.post("/api/entities", {"name": "Pair", "entity_type": "project"})["id"]
    old = {"name": pair.old[:NAME_LIMIT], "content": pair.old, "entity_type": pair.kind}
    client.post("/api/entities?sync=true", {**old, "metadata": {"project_id": project}})
    found = asked(client, f"{pair.kind.capitalize()}: {pair.new}", project=project)["candidates"]
    return any(each["kind"] in _ANSWERS[pair.asks] for each in _findings(found))


def _findings(candidates: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (each for candidate in candidates for each in candidate["reflection_findings"])


def _finding(candidate: Mapping[str, Any]) -> Finding:
    span = candidate["metadata"]["span"]
    return Finding(
        kind=candidate["kind"],
        title=candidate["title"],
        content=candidate["content"],
        start=span["start"],
        end=span["end"],
        reason=candidate["reason"],
        confidence=candidate["confidence"],
        tags=tuple(candidate["tags"]),
    )
