"""Has a server read notes and judge pairs of sentences; its answers take the form in which labels are compared."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evals.client import Client
from evals.harness.places import Place, opened
from evals.harness.server import Target, served
from evals.options import Options
from evals.reflection.labels import Pair
from evals.runs import Journal
from tools.entity_models import NAME_LIMIT
from tools.reflection import Finding

_ANSWERS = {"duplicate": ("duplicate",), "contradiction": ("contradiction", "supersession")}
"""Kinds of findings that say yes to what a pair asks."""
LIMIT = 25
"""The most candidates of an answer; the longest note has fewer."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who has notes read."""

    target: Target
    client: Client
    project: Mapping[str, Any]
    """Fields that keep to a project where the organization is not the run's own."""

    def asked(self, notes: str, **options: Any) -> dict[str, Any]:
        """Have notes read, of which nothing is kept; the whole answer."""
        body = {"content": notes, "persist_source": False, "limit": LIMIT, **self.project, **options}
        return self.client.post("/api/context/reflect", body)


@contextmanager
def reader(journal: Journal, name: str, options: Options) -> Iterator[Reader]:
    """Serve an empty place, or that of an earlier try, and yield who has read something there to warm up."""
    folder, note = journal.server_folder(name), f"place-{name}"
    kept = journal.note(note)
    if not kept:
        shutil.rmtree(folder, ignore_errors=True)
    with served(folder, options.server, options.url) as target, Client(target.address) as client:
        place = Place.of(kept) if kept else opened(target, client, options.key)
        journal.keep(note, place.plain())
        place.enter(client, options.key)
        found = Reader(target, client, place.filter)
        found.asked("We decided to warm up.")
        yield found


def read(reader: Reader, notes: str) -> list[Finding]:
    """Have notes read, and say what was found."""
    return [_finding(each) for each in reader.asked(notes)["candidates"]]


def judged(reader: Reader, pair: Pair) -> bool:
    """Store the old sentence of a pair in a project of its own, have the new one read there, and say what came of it.

    A label says what the new one is, so that a finding is made of it whatever its words.
    """
    project = reader.client.post("/api/entities", {"name": "Pair", "entity_type": "project"})["id"]
    old = {"name": pair.old[:NAME_LIMIT], "content": pair.old, "entity_type": pair.kind}
    reader.client.post("/api/entities?sync=true", {**old, "metadata": {"project_id": project}})
    found = reader.asked(f"{pair.kind.capitalize()}: {pair.new}", project=project)["candidates"]
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
