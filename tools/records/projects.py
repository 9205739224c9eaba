"""Projects: access rows, audit entries, checks of project ids, and names in their place."""

import difflib
import re
from collections.abc import Mapping
from functools import cached_property
from json import dumps
from typing import Any, Literal, TypeVar

from pydantic import JsonValue

from auth.policy import NoProject, Visibility, writable_visibility
from auth.principal import Principal
from auth.visibility import members_key
from stores.errors import EngrainError, InvalidRequest, ValidationFailed
from stores.ledger import Brief, EntityQuery, Transaction
from stores.records import Entity, JsonObject, ProjectAccess
from stores.spaces import LETTING_IN
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Request
from tools.records.entity_models import NAME_LIMIT, split_list
from tools.text.plain import one_line

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
        f"metadata.project_id is {dumps(value)[:80]}, which is not a project's id.",
        remediation="Send the id of a project as a text, null for none, or leave project_id out.",
        details={"field": "body.metadata.project_id", "expected": "id of a project, or null"},
    )


def require_live(project_id: str, found: Entity | None) -> None:
    """Refuse new records in a project that was deleted; `found` is the record with its id."""
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


R = TypeVar("R", bound=Request)
FIELDS = ("project", "project_id", "project_ids")
"""Request fields that refer to projects, on every operation."""
KEYS = {
    "scope_key": ("memory_scope",),
    "promote_to_scope_key": ("promote_to_scope",),
    "target_scope_key": ("target_scope", "target_memory_scope"),
}
"""Request fields that refer to a project if another field is `project`."""
NAMING = frozenset({*FIELDS, *KEYS, "metadata", "entities"})
MOST = 10_000


class ProjectNames:
    """The projects that a caller may read; listed at the first reference by name or slug. Blocks."""

    def __init__(self, app: App, caller: Principal) -> None:
        self.app = app
        self.caller = caller

    @cached_property
    def known(self) -> list[Brief]:
        query = EntityQuery(self.caller.visible, types=("project",), include_archived=True, limit=MOST)
        return self.app.ledger.records.list_briefs(self.caller.organization_id, query)[0]

    def id_of(self, reference: str) -> str | None:
        """Return the id of the only project with this id, else name, else slug."""
        if reference in self.caller.project_roles:
            return reference
        key = " ".join(reference.split()).casefold()
        for place in range(3):
            if ids := [each.id for each in self.known if _names(each)[place] == key]:
                return ids[0] if len(ids) == 1 else None
        return None

    def with_ids(self, request: R) -> R:
        """Replace the references of a request; raise its `project_refusal`, by default a 404."""
        update: dict[str, Any] = {}
        for name in request.model_fields_set:
            value = getattr(request, name)
            if name in FIELDS and value:
                update[name] = self._ids(request, name, value)
            elif name in KEYS and value and any(getattr(request, each, None) == "project" for each in KEYS[name]):
                update[name] = self.id_of(value) or value
            elif name == "metadata" and isinstance(value, dict) and isinstance(said := value.get("project_id"), str):
                update[name] = {**value, "project_id": self.id_of(said) or said}
            elif name == "entities":
                update[name] = [self.with_ids(each) for each in value]
        return request.model_copy(update=update) if update else request

    def _ids(self, request: Request, name: str, value: str | list[str]) -> str | list[str]:
        given = value if isinstance(value, list) else split_list(value) if name == "project_ids" else [value]
        ids = []
        for each in given:
            if (found := self.id_of(each)) is None:
                denied = NoProject(each, Visibility(members_key(each), "project", each))
                if refusal := getattr(request, "project_refusal", None):
                    raise refusal(each) from denied
                raise denied
            ids.append(found)
        return ids if isinstance(value, list) else ",".join(ids)

    def suggest(self, error: EngrainError) -> None:
        """Add the nearest names to a refusal of the project in its `details`."""
        key = str(error.details["project"]).casefold()[:NAME_LIMIT]
        names = {_name(each) for each in self.known}
        close = [*difflib.get_close_matches(key, names, cutoff=0.4), *sorted(name for name in names if key in name)]
        near = sorted((each for each in self.known if _name(each) in close), key=lambda each: close.index(_name(each)))
        if near := near[:3]:
            error.details["nearest"] = [{"id": each.id, "name": each.name} for each in near]
            told = ", ".join(f"{one_line(each.name)} ({each.id})" for each in near)
            error.remediation = f"Use the id, unique name or slug of a project, such as {told}."


def _name(project: Brief) -> str:
    return " ".join(project.name.split()).casefold()


def _names(project: Brief) -> tuple[str, str, str]:
    slug = str(project.metadata.get("slug") or slug_of(project.name, project.id))
    return project.id.casefold(), _name(project), slug.casefold()


def slug_of(name: str, otherwise: str) -> str:
    """Make a slug of at most 50 characters from a name, or `otherwise`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].rstrip("-") or otherwise
