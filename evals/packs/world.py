"""Lays the records of two colleagues down, each on its day, and signs both in where they are served."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from auth.principal import Principal
from evals.annals import opened
from evals.client import Client
from evals.packs.labels import Kept, Person
from stores.records import JsonObject
from tools.app import App
from tools.entity_models import EntityFields

_BEGINNING_DAYS = 500
_PASSWORD = "throw-away-account"  # noqa: S105 - it guards a folder that is deleted within minutes


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
    async with opened(folder, _BEGINNING_DAYS) as annals:
        app, ids = annals.app, dict[str, str]()
        ada = await anyio.to_thread.run_sync(app.accounts.sign_up, _address("ada"), _PASSWORD, "Ada")
        organization = ada.identity.organization.id
        first = await anyio.to_thread.run_sync(app.accounts.authenticate, ada.access_token)
        names = sorted({record.project for record in records if record.project is not None})
        projects = [(name, EntityFields(name=name.capitalize(), entity_type="project")) for name in names]
        await annals.lay(first, projects, ids)
        people = await anyio.to_thread.run_sync(_people, app, ada.access_token, organization)
        for record in records:
            annals.turn_to(record.days_ago)
            await annals.lay(people[record.author], [(record.key, _fields(record, ids))], ids)
        annals.turn_to(0)
        await annals.until_whole(organization)
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
    return EntityFields(
        name=record.name,
        content=record.content,
        entity_type=record.type,
        metadata={key: value for key, value in metadata.items() if value is not None},
        related_to=list(record.related),
    )
