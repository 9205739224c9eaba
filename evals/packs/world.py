"""Stores the records of two colleagues in one organization, each as of its day, and finds them again."""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evals.annals import Annals
from evals.client import Client
from evals.harness.server import Target, served
from evals.harness.waiting import until_whole
from evals.packs.labels import Kept, Person, read_records
from evals.runs import Journal
from stores.records import JsonObject
from tools.entity_models import EntityFields

_BEGINNING_DAYS = 500


@dataclass(frozen=True, slots=True)
class World:
    """The records on a server, and who may ask for them."""

    client: Client
    records: Sequence[Kept]
    tokens: Mapping[Person, str]
    ids: Mapping[str, str]
    """By key, those of the projects by their names."""
    keys: Mapping[str, str]
    """What the labels call each record, by its id."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A world with its server."""

    world: World
    target: Target
    loading_s: float
    """What storing and indexing took."""


@contextmanager
def settled(journal: Journal, name: str, environ: Mapping[str, str]) -> Iterator[Settlement]:
    """Serve the records to a suite of this name; they are stored once, whatever interrupts a run after that.

    Raises:
        EngrainError: The server refuses a record, or an index does not catch up.
    """
    folder, note, records = journal.server_folder(name), f"world-{name}", read_records()
    kept: Mapping[str, Any] = journal.note(note)
    if not kept:
        # What an earlier try stored by halves belongs to accounts that are to be made anew.
        shutil.rmtree(folder, ignore_errors=True)
    with served(folder, environ, None) as target, Client(target.address) as client:
        if kept:
            until_whole(target, "", {}, "records")
            world = _found_again(client, records, kept["ids"])
        else:
            start = time.perf_counter()
            world = _filled(target, client, records)
            kept = {"ids": dict(world.ids), "seconds": time.perf_counter() - start}
            journal.keep(note, kept)
        yield Settlement(world, target, kept["seconds"])


def _filled(target: Target, client: Client, records: Sequence[Kept]) -> World:
    """Store the records on an empty server and wait until every index has them."""
    ada, bob = client.signed_up("ada"), client.signed_up("bob")
    with ada, bob:
        slug = ada.get("/api/auth/me")["organization"]["slug"]
        ada.post(f"/api/orgs/{slug}/members", {"user_id": bob.get("/api/auth/me")["user"]["id"], "role": "member"})
        annals = Annals()
        names = sorted({record.project for record in records if record.project is not None})
        projects = [(name, EntityFields(name=name.capitalize(), entity_type="project")) for name in names]
        annals.keep(ada, _BEGINNING_DAYS, projects)
        # Who may read a project is known from when one enters: Bob does when they are there.
        bob.present(bob.post(f"/api/orgs/{slug}/switch", {})["access_token"])
        authors: Mapping[Person, Client] = {"ada": ada, "bob": bob}
        for record in records:
            annals.keep(authors[record.author], record.days_ago, [(record.key, _fields(record, annals.ids))])
        until_whole(target, "", {}, "records")
        return _world(client, records, (ada, bob), annals.ids)


def _found_again(client: Client, records: Sequence[Kept], ids: Mapping[str, str]) -> World:
    ada, bob = client.signed_in("ada"), client.signed_in("bob")
    with ada, bob:
        slug = ada.get("/api/auth/me")["organization"]["slug"]
        bob.present(bob.post(f"/api/orgs/{slug}/switch", {})["access_token"])
        return _world(client, records, (ada, bob), ids)


def _world(client: Client, records: Sequence[Kept], people: tuple[Client, Client], ids: Mapping[str, str]) -> World:
    ada, bob = people
    tokens: Mapping[Person, str] = {"ada": ada.token, "bob": bob.token}
    return World(client, records, tokens, ids, {record_id: key for key, record_id in ids.items()})


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
