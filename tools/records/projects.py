"""Projects: access rows, audit entries and checks of project ids."""

from collections.abc import Mapping
from json import dumps
from typing import Literal

from pydantic import JsonValue

from auth.policy import NoProject, writable_visibility
from auth.principal import Principal
from stores.errors import InvalidRequest, ValidationFailed
from stores.ledger import Transaction
from stores.records import Entity, JsonObject, ProjectAccess
from stores.space_access import LETTING_IN
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call

ProjectAction = Literal["project.create", "project.update", "project.delete"]


def grant_project(tx: Transaction, entity: Entity) -> None:
    """Store who may read a project apart from its entity, because its tasks outlive it."""
    if entity.entity_type == "project":
        private = _is_private(entity)
        access = ProjectAccess(entity.id, "private" if private else "org", entity.principal_id)
        tx.people.set_project_access(access, keep_creator=entity.revision > 1)


def audit_project(tx: Transaction, call: Call, action: ProjectAction, entity: Entity, more: JsonObject | None) -> None:
    """Write an action on a project to the audit log, without any text of it."""
    if entity.entity_type == "project":
        details: JsonObject = {
            "status": entity.metadata.get("status"),
            "visibility": "private" if _is_private(entity) else "org",
            "revision": entity.revision,
        }
        tx.audit(audit_entry(call, action, entity.organization_id, entity.id, details | (more or {})))


def _is_private(entity: Entity) -> bool:
    return entity.metadata.get("visibility") == "private"


def project_named(metadata: Mapping[str, JsonValue]) -> str | None:
    value = metadata.get("project_id")
    if value is None or (isinstance(value, str) and value):
        return value
    raise ValidationFailed(
        f"metadata.project_id is {dumps(value)[:80]}, which is no project's id.",
        remediation="Send the id of a project as a text, null for none, or leave project_id out.",
        details={"field": "body.metadata.project_id", "expected": "id of a project, or null"},
    )


def require_live_project(app: App, organization_id: str, project_id: str) -> None:
    """Refuse new records in a project that was deleted.

    Write rights are checked where the record gets its visibility (`auth.policy`).
    """
    require_live(project_id, app.ledger.records.entity(organization_id, project_id))


def require_live(project_id: str, found: Entity | None) -> None:
    """Check an entity that was read under the id of a project."""
    if found is None or found.entity_type != "project":
        raise NoProject(project_id)


def project_scope(caller: Principal, scope: JsonValue, metadata: JsonObject) -> JsonObject:
    """Translate a memory scope of a project: `private` hides it, open scopes show it."""
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
