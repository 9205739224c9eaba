"""Stores the records of two colleagues in one organization, each as of its day, and finds them again."""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evals.annals import Annals
from evals.client import Client
from evals.harness.places import Place, joined, opened
from evals.harness.server import Target, served
from evals.harness.waiting import until_whole
from evals.options import Options
from evals.packs.labels import Kept, Person, read_records
from evals.runs import Journal
from stores.records import JsonObject
from tools.entity_models import EntityFields

_BEGINNING_DAYS = 500


@dataclass(frozen=True, slots=True)
class World:
    """The records on a server, and who may ask for them."""

    records: Sequence[Kept]
    clients: Mapping[Person, Client]
    ids: Mapping[str, str]
    """By key, those of the projects by their names."""
    keys: Mapping[str, str]
    """What the labels call each record, by its id."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A world with its server."""

    world: World
    target: Target
    loading_s: float | None
    """What storing and indexing took; not known where indexing was interrupted."""


@contextmanager
def settled(journal: Journal, name: str, options: Options) -> Iterator[Settlement]:
    """Serve the records to a suite of this name; they are stored once, whatever interrupts a run after that.

    Raises:
        EngrainError: The server refuses a record, or an index does not catch up.
    """
    folder, note, records = journal.server_folder(name), f"world-{name}", read_records()
    kept: Mapping[str, Any] = journal.note(note)
    if not kept:
        # What an earlier try stored by halves belongs to accounts that are to be made anew.
        shutil.rmtree(folder, ignore_errors=True)
    with (
        served(folder, options.server, options.url) as target,
        Client(target.address) as ada,
        Client(target.address) as bob,
    ):
        clients: Mapping[Person, Client] = {"ada": ada, "bob": bob}
        start, is_new = time.perf_counter(), not kept
        if is_new:
            kept = _stored(target, clients, records)
            journal.keep(note, kept)
        # The organization's health is told to Ada alone.
        until_whole(target, "", {"ada": Place.of(kept["people"]["ada"])}, "records")
        if is_new:
            kept = {**kept, "seconds": time.perf_counter() - start}
            journal.keep(note, kept)
        for person, client in clients.items():
            Place.of(kept["people"][person]).enter(client, "")
        keys = {record_id: key for key, record_id in kept["ids"].items()}
        yield Settlement(World(records, clients, kept["ids"], keys), target, kept.get("seconds"))


def _stored(target: Target, clients: Mapping[Person, Client], records: Sequence[Kept]) -> dict[str, Any]:
    """Store the records in an organization of Ada's, which Bob joins; what is to be kept to find them again."""
    annals, ada = Annals(), opened(target, clients["ada"], "")
    names = sorted({record.project for record in records if record.project is not None})
    projects = [(name, EntityFields(name=name.capitalize(), entity_type="project")) for name in names]
    annals.keep(clients["ada"], _BEGINNING_DAYS, projects)
    # Who joins later may read the projects that are there.
    bob = joined(clients["ada"])
    bob.enter(clients["bob"], "")
    for record in records:
        annals.keep(clients[record.author], record.days_ago, [(record.key, _fields(record, annals.ids))])
    return {"people": {"ada": ada.plain(), "bob": bob.plain()}, "ids": annals.ids}


def _fields(record: Kept, ids: Mapping[str, str]) -> EntityFields:
    metadata: JsonObject = {
        "project_id": ids[record.project] if record.project is not None else None,
        "status": record.status,
        "priority": record.priority,
        "memory_scope": record.scope,
    }
    return EntityFields(
        name=record.name,
        content=record.content,
        entity_type=record.type,
        metadata={key: value for key, value in metadata.items() if value is not None},
        related_to=list(record.related),
    )
