"""Projects: who may read their records, and which of them can be written in."""

from collections.abc import Mapping
from json import dumps
from typing import Literal

from pydantic import JsonValue

from auth.policy import no_project, writable_visibility
from auth.principal import Principal
from stores.errors import InvalidRequest, ValidationFailed
from stores.ledger import Transaction
from stores.records import Entity, JsonObject, ProjectAccess
from stores.space_access import LETTING_IN
from tools.app import App
from tools.deeds import deed
from tools.operation import Call

ProjectDeed = Literal["project.create", "project.update", "project.delete"]


def grant_project(tx: Transaction, entity: Entity) -> None:
    """Keep who may read a project beside its entity, because its tasks outlive it."""
    if entity.entity_type == "project":
        private = _is_private(entity)
        access = ProjectAccess(entity.id, "private" if private else "org", entity.principal_id)
        tx.set_project_access(access, keep_creator=entity.revision > 1)


def remember_project(tx: Transaction, call: Call, action: ProjectDeed, entity: Entity, more: JsonObject | None) -> None:
    """Write what is done to a project to the audit log, in the transaction that does it; never any text of it."""
    if entity.entity_type == "project":
        details: JsonObject = {
            "status": entity.metadata.get("status"),
            "visibility": "private" if _is_private(entity) else "org",
            "revision": entity.revision,
        }
        tx.audit(deed(call, action, entity.organization_id, entity.id, details | (more or {})))


def _is_private(entity: Entity) -> bool:
    return entity.metadata.get("visibility") == "private"


def project_named(metadata: Mapping[str, JsonValue]) -> str | None:
    """Read the project out of metadata; null names none.

    Raises:
        ValidationFailed: It is no text, or an empty one: it decides who may read the record, so nothing is guessed.
    """
    value = metadata.get("project_id")
    if value is None or (isinstance(value, str) and value):
        return value
    raise ValidationFailed(
        f"metadata.project_id is {dumps(value)[:80]}, which is no project's id.",
        remediation="Send the id of a project as a text, null for none, or leave project_id out.",
        details={"field": "body.metadata.project_id", "expected": "id of a project, or null"},
    )


def require_live_project(app: App, organization_id: str, project_id: str) -> None:
    """Refuse a project that was deleted: its records stay, new ones do not come.

    Whether the caller may write in it is asked where the record gets its visibility (`auth.policy`).

    Raises:
        NotFound: There is no such project, or not any more.
    """
    require_live(project_id, app.ledger.entity(organization_id, project_id))


def require_live(project_id: str, found: Entity | None) -> None:
    """Check what was read under the id of a project, as `require_live_project` does."""
    if found is None or found.entity_type != "project":
        raise no_project(project_id)


def project_scope(caller: Principal, scope: JsonValue, metadata: JsonObject) -> JsonObject:
    """Take a memory scope for a project as what it means there: `private` hides it, the open ones show it.

    Raises:
        InvalidRequest: The scope is a team's or a memory space's.
        Forbidden: The scope is not enabled, or the caller is no verified member of it.
        ValidationFailed: It is no memory scope.
    """
    if scope is None or scope == "project":
        return metadata
    if scope == "team" or scope in LETTING_IN:
        raise InvalidRequest(
            f"A project itself is in no {scope} scope.",
            remediation="Make it `private` and give the team a role in it with POST /api/teams/{team_id}/projects.",
            details={"field": "body.metadata.memory_scope"},
        )
    writable_visibility(caller, scope, None)
    return {**metadata, "visibility": "private" if scope == "private" else "org"}
