"""Lays the records down in a data folder, each on its day, before a server is started on it.

A client cannot say on which day a record was made, and packs heed how old things are. What is measured afterwards goes
through the server like everybody's requests.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.to_thread

from auth.principal import Principal
from evals.client import Client
from evals.packs.labels import Kept, Person
from stores.errors import EngrainError
from stores.records import JsonObject
from tools.app import App, open_app
from tools.entity_models import EntityFields
from tools.logs import LogRing
from tools.operation import Call
from tools.settings import Settings
from tools.storing import store

_BEGINNING_DAYS = 500
_PASSWORD = "throw-away-account"  # noqa: S105 - it guards a folder that is deleted within minutes
_LOADING_LIMIT_S = 300.0


@dataclass(slots=True)
class Calendar:
    """A clock that shows what it is set to."""

    now: datetime

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now


def fill(folder: Path, records: Sequence[Kept]) -> dict[str, str]:
    """Store the records so many days before now, and wait until every index has them.

    Returns:
        The ids by key, those of the projects by their names.
    """
    return anyio.run(_fill, folder, records)


def signed_in(client: Client) -> dict[Person, str]:
    """Sign everybody in where the records are; return the tokens."""
    tokens: dict[Person, str] = {}
    for person in ("ada", "bob"):
        account = {"email": _address(person), "password": _PASSWORD}
        client.present(client.post("/api/auth/local/login", account)["access_token"])
        tokens[person] = client.token
    client.present(tokens["ada"])
    slug = client.get("/api/auth/me")["organization"]["slug"]
    client.present(tokens["bob"])
    tokens["bob"] = client.post(f"/api/orgs/{slug}/switch", {})["access_token"]
    return tokens


async def _fill(folder: Path, records: Sequence[Kept]) -> dict[str, str]:
    today = datetime.now(UTC)
    calendar = Calendar(today - timedelta(days=_BEGINNING_DAYS))
    settings = Settings(data_dir=folder, log_level="error")
    async with open_app(settings, logs=LogRing(), clock=calendar) as app:
        ada = await anyio.to_thread.run_sync(app.accounts.sign_up, _address("ada"), _PASSWORD, "Ada")
        organization = ada.identity.organization.id
        first = await anyio.to_thread.run_sync(app.accounts.authenticate, ada.access_token)
        names = sorted({record.project for record in records if record.project is not None})
        projects = [EntityFields(name=name.capitalize(), entity_type="project") for name in names]
        made = await store(app, Call(first), projects, sync=True, deferred=False)
        ids = {name: entity.id for name, entity in zip(names, made.entities, strict=True)}
        people = await anyio.to_thread.run_sync(_people, app, ada.access_token, organization)
        for record in records:
            calendar.now = today - timedelta(days=record.days_ago)
            made = await store(app, Call(people[record.author]), [_fields(record, ids)], sync=False, deferred=False)
            ids[record.key] = made.entities[0].id
        calendar.now = today
        await _until_whole(app, organization)
        return ids


def _address(person: Person) -> str:
    return f"{person}@localhost.test"


def _people(app: App, token: str, organization_id: str) -> dict[Person, Principal]:
    """Authenticate everybody, now that the projects are there to be seen."""
    bob = app.accounts.create(_address("bob"), _PASSWORD, "Bob")
    app.ledger.add_membership(bob.id, organization_id, "member")
    signed = app.accounts.start(bob, organization_id=organization_id)
    return {"ada": app.accounts.authenticate(token), "bob": app.accounts.authenticate(signed.access_token)}


def _fields(record: Kept, ids: Mapping[str, str]) -> EntityFields:
    metadata: JsonObject = {
        "project_id": ids[record.project] if record.project is not None else None,
        "status": record.status,
        "priority": record.priority,
        "memory_scope": record.scope,
    }
    links = (link.partition(":") for link in record.related)
    return EntityFields(
        name=record.name,
        content=record.content,
        entity_type=record.type,
        metadata={key: value for key, value in metadata.items() if value is not None},
        related_to=[f"{name}:{ids[key]}" for name, _, key in links],
    )


async def _until_whole(app: App, organization_id: str) -> None:
    head, ids = app.ledger.head(organization_id).sequence, list(app.ledger.revisions(organization_id))
    deadline = time.monotonic() + _LOADING_LIMIT_S
    while pending := await app.indexer.applied_within(organization_id, head, ids, 20.0):
        if time.monotonic() > deadline:
            raise EngrainError(f"The indexes {', '.join(sorted(pending))} do not catch up.")
