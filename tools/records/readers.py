"""Readers of a record, in words: the answer of every write names them. Authors by name."""

from collections.abc import Iterable

from auth.principal import Principal
from auth.visibility import entity_key
from stores.records import RAW_MEMORY, Entity
from tools.app import App
from tools.text.plain import one_line

SEND_AGAIN = "; to share it, send it again with another memory_scope"
SHARE = '; to share it, set metadata.memory_scope to "organization", or to "project" with a project_id'


def authors(app: App, entities: Iterable[Entity]) -> dict[str, str | None]:
    """Return the name of the author of each record, of a raw memory its speaker, by record id. Blocks."""
    known = list(entities)
    names = app.ledger.people.names(each.principal_id for each in known if each.principal_id)
    speakers = {each.id: each.metadata.get("speaker") for each in known if each.entity_type == RAW_MEMORY}
    return {
        each.id: speaker if isinstance(speaker := speakers.get(each.id), str) else names.get(each.principal_id or "")
        for each in known
    }


def readable_by(app: App, caller: Principal, visibility: str) -> str:
    """Name those who can read what the caller has written with this visibility. Blocks."""
    kept_as = entity_key(visibility)
    kind, _, key = kept_as.partition(":")
    share = SHARE if kept_as == visibility else SEND_AGAIN
    everybody = f"everybody in organization {caller.organization.name}"
    if kind == "private":
        return f"private: only you{share}" if key == caller.user_id else "private: only its author"
    if kind in ("project", "members"):
        project = app.ledger.records.entity(caller.organization_id, key)
        name = key if project is None else f"{one_line(project.name)} ({key})"
        if kind == "project" and project is not None and project.metadata.get("visibility") != "private":
            return f"{everybody}, as the project {name}"
        return f"members of project {name}"
    if kind == "team":
        team = app.ledger.teams.team(caller.organization_id, key)
        return f"members of team {key if team is None else one_line(team.name)}"
    return f"who may read the memory space {key}" if key else everybody
