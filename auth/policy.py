"""Read and write rights of records, by visibility keys and memory scopes."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from pydantic import JsonValue

from auth.principal import Principal, with_spaces
from auth.visibility import (
    diary_key,
    entity_key,
    members_key,
    memory_key,
    private_key,
    project_key,
    space_key,
    team_key,
)
from stores.errors import Forbidden, InvalidRequest, NotFound, ValidationFailed
from stores.ledger import Outline
from stores.records import ORGANIZATION, Access, Entity, Identity, JsonObject, ProjectRole, Role
from stores.spaces import LETTING_IN, NO_SPACES

MemoryScope = Literal["private", "delegated", "project", "team", "organization", "shared", "public"]
MEMORY_SCOPES: tuple[MemoryScope, ...] = get_args(MemoryScope)
TRUST_NAMES = ("trust_state", "disputed_sources", "undisputed_state")
STAMPED = ("principal_id", "organization_id", "scope_key", "crawl_settings", *TRUST_NAMES)
"""Names in metadata that only the server sets."""

ADMINS: frozenset[Role] = frozenset({"owner", "admin"})
ENDINGS = ("completed", "archived")
UNVERIFIED = "unverified_membership"


@dataclass(frozen=True, slots=True)
class Visibility:
    """A record's visibility key, and its scope as clients see it."""

    key: str
    memory_scope: MemoryScope
    scope_key: str | None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a record that is in this place."""
        return {"visibility": self.key, "memory_scope": self.memory_scope, "scope_key": self.scope_key}


class MemoryDenied(Forbidden):
    """403: the caller is not in the scope of records that it names, or the scope is switched off."""

    def __init__(self, place: Visibility, message: str, *, word: str | None = None, remediation: str) -> None:
        super().__init__(message, word=word, remediation=remediation)
        self.place = place


class NoProject(NotFound):
    """404: a project that is unknown or unreadable; `place` if memories of it were asked for."""

    def __init__(self, project_id: str, place: Visibility | None = None) -> None:
        super().__init__(
            f"There is no project {project_id}.",
            remediation="List the entities of type project and use one of their ids.",
            details={"project": project_id},
        )
        self.place = place


def principal_of(identity: Identity, access: Access) -> Principal:
    """Expand an identity to all of its visibility keys."""
    roles = project_roles(identity, access)
    joined = roles if identity.role in ADMINS else access.roles
    shared = {ORGANIZATION, private_key(identity.user.id)}
    shared |= {members_key(project) for project in joined} | {team_key(team) for team in access.team_ids}
    shared |= {space_key(*grant.place) for grant in access.spaces.granted}
    principal = Principal(
        user=identity.user,
        organization=identity.organization,
        role=identity.role,
        session_id=identity.session.id if identity.session else None,
        visible=frozenset(shared | {project_key(project) for project in roles}),
        memories=frozenset({memory_key(key) for key in shared} | {diary_key(identity.user.id)}),
        project_roles=roles,
    )
    return principal if access.spaces is NO_SPACES else with_spaces(principal, access.spaces)


def project_roles(identity: Identity, access: Access) -> dict[str, ProjectRole]:
    """Return a member's highest role in each readable project.

    Owners and admins of the organization own all, creators their own. Others have the roles granted to them or their
    teams, and are viewers of projects open to the organization.
    """
    if identity.role in ADMINS:
        return {project.project_id: "project_owner" for project in access.projects}
    roles: dict[str, ProjectRole] = {
        project.project_id: "project_viewer" for project in access.projects if project.visibility == "org"
    }
    return roles | dict(access.roles)


def require_whole(principal: Principal, what: str) -> None:
    """Refuse an API key that is narrowed to projects or memory spaces."""
    if principal.is_narrowed:
        raise Forbidden(
            f"{what} is not for an API key that is narrowed to projects or memory spaces.",
            remediation="Use a key without project_ids and memory_space_ids, or the access token of a session.",
        )


def may_read(principal: Principal, visibility: str) -> bool:
    return visibility in principal.visible


def admins_may_read(visibility: str) -> bool:
    key = entity_key(visibility)
    return key == ORGANIZATION or key.startswith((project_key(""), members_key("")))


def require_project(principal: Principal, project_id: str) -> None:
    if not may_read(principal, project_key(project_id)):
        raise NoProject(project_id)
    if not principal.may_write_in(project_id):
        raise no_contributor(f"project {project_id} but not write in it")


def require_writable(principal: Principal, entity: Entity | Outline) -> None:
    """Require contributor in the record's project, except for own private records; for a project, maintainer."""
    if not principal.may_write_for(entity.visibility):
        raise _reads_only(f"{entity.id} but not change it: it belongs to a memory space")
    if entity.entity_type == "project":
        _require_role_in(principal, entity.id, "project_maintainer", "change")
        return
    project_id = entity.project_id
    if project_id is None or entity.visibility == private_key(principal.user_id):
        return
    if not principal.may_write_in(project_id):
        raise no_contributor(f"{entity.id} but not change it: it belongs to project {project_id}")


def may_reach(principal: Principal, entity: Entity | Outline) -> bool:
    in_sight = entity.project_id is None or entity.project_id in principal.project_roles
    return in_sight and may_read(principal, entity.visibility)


def may_work(principal: Principal, entity: Entity, least: ProjectRole = "project_contributor") -> bool:
    """Return True if the caller has this role for a task or epic, by its project.

    Without a project, members are contributors; author, owners and admins are maintainers.
    """
    if not principal.may_write_for(entity.visibility):
        return False
    if entity.project_id is not None:
        return principal.may_write_in(entity.project_id, least)
    runs = principal.role in ADMINS or principal.user_id == entity.principal_id
    return principal.role != "viewer" and (least == "project_contributor" or runs)


def require_work(principal: Principal, entity: Entity, least: ProjectRole = "project_contributor") -> None:
    if not may_work(principal, entity, least):
        where = "its author" if entity.project_id is None else f"the role {least} in its project"
        raise Forbidden(
            f"You may read {entity.id} but not do this to it: that needs {where}, or an owner or admin.",
            remediation="Ask somebody who has it to do it, or a maintainer of the project for the role.",
            details={"expected": least},
        )


def require_ending(principal: Principal, epic: Entity, update: JsonObject) -> None:
    """Require the role maintainer to complete or archive an epic by this metadata update."""
    status = update.get("status")
    if epic.entity_type != "epic" or status not in ENDINGS:
        return
    if status != epic.metadata.get("status") or update.get("archived_at"):
        require_work(principal, epic, "project_maintainer")


def require_entry(principal: Principal, epic: Entity) -> None:
    """Require the role maintainer to add an ended epic to a project."""
    status = epic.metadata.get("status")
    if epic.entity_type != "epic" or status not in ENDINGS or may_work(principal, epic, "project_maintainer"):
        return
    raise Forbidden(
        f"An epic that comes {status} needs the role project_maintainer in project {epic.project_id}.",
        remediation="Leave its status out, or ask a maintainer of the project to do it.",
        details={"field": "body.metadata.status", "expected": "project_maintainer"},
    )


def require_source(principal: Principal, entity: Entity) -> None:
    """Require the role maintainer for records of another author's operational experience."""
    project_id = entity.project_id
    if project_id is None or not entity.metadata.get("manifest_id") or entity.principal_id == principal.user_id:
        return
    if not principal.may_write_in(project_id, "project_maintainer"):
        raise Forbidden(
            "another user made this experience; to change it needs the role project_maintainer.",
            word="project_access_denied",
            remediation="Ask its author, or a maintainer of the project.",
            details={"expected": "project_maintainer"},
        )


def require_deletable(principal: Principal, entity: Entity) -> None:
    if entity.entity_type == "project":
        _require_role_in(principal, entity.id, "project_owner", "delete")
    else:
        require_writable(principal, entity)


def _require_role_in(principal: Principal, project_id: str, least: ProjectRole, verb: str) -> None:
    if not principal.may_write_in(project_id, least):
        raise Forbidden(
            f"You may read project {project_id} but not {verb} it: that needs the role {least}.",
            remediation="Ask its creator, or an owner or admin of the organization.",
            details={"actual": principal.project_roles.get(project_id, "project_viewer"), "expected": least},
        )


def writable_visibility(
    principal: Principal,
    scope: JsonValue,
    project_id: str | None,
    *,
    author_id: str | None = None,
    scope_key: JsonValue = None,
) -> Visibility:
    """Resolve the scope of a write; by default the project's, else the organization's.

    `private` belongs to the author, by default the caller. Owners and admins are not members of teams or
    spaces by that role.
    """
    if project_id is not None:
        require_project(principal, project_id)
    if scope in ("team", *LETTING_IN):
        found = _joined_visibility(principal, cast("MemoryScope", scope), scope_key)
    else:
        found = _asked_visibility(principal, scope, project_id, author_id or principal.user_id)
    if principal.is_narrowed and found.key not in principal.visible:
        raise MemoryDenied(
            found,
            "This API key writes only records of the projects or memory spaces to which it is narrowed.",
            remediation="Name one of the projects in metadata.project_id, or `project`, or the scope of one of the "
            "spaces in metadata.memory_scope.",
        )
    return found


def _joined_visibility(principal: Principal, scope: MemoryScope, key: JsonValue) -> Visibility:
    if not isinstance(key, str) or not key:
        raise _no_scope_key()
    found = Visibility(space_key(scope, key), scope, key)
    if scope != "team" and memory_key(found.key) in principal.switched_off:
        said = f"the memory space of {key} is disabled."
        raise MemoryDenied(found, said, word="scope_not_enabled", remediation=_OTHER_SCOPE)
    if not may_read(principal, found.key):
        said, way = f"you are no verified member of {key}.", _OTHER_SCOPE
        if scope == "team":
            said = f"you are not in the team {key}."
            way = "List the teams with GET /api/teams and name one whose is_member is true."
        raise MemoryDenied(found, said, word=UNVERIFIED, remediation=way)
    if not principal.may_write_for(found.key):
        raise _reads_only(f"the memory space of {key} but not write in it")
    return found


def no_contributor(what: str) -> Forbidden:
    return Forbidden(f"You may read {what}.", remediation="Ask a maintainer of the project to make you a contributor.")


def _reads_only(what: str) -> Forbidden:
    return Forbidden(f"You may read {what}.", remediation="Ask an owner or admin for the role writer in the space.")


def public_place(principal: Principal) -> Visibility:
    """Return the visibility of scope `public`, which is the organization's; Forbidden unless a setting enables it."""
    place = Visibility(ORGANIZATION, "public", None)
    if not principal.has_public_scope:
        said = "the scope `public` is not enabled."
        raise MemoryDenied(place, said, word="scope_not_enabled", remediation=_OTHER_SCOPE)
    return place


def _asked_visibility(principal: Principal, scope: JsonValue, project_id: str | None, author_id: str) -> Visibility:
    if scope is None:
        scope = "organization" if project_id is None else "project"
    if scope == "organization":
        return Visibility(ORGANIZATION, "organization", None)
    if scope == "private":
        return Visibility(private_key(author_id), "private", author_id)
    if scope == "project":
        if project_id is None:
            raise _no_scope_key()
        return Visibility(project_key(project_id), "project", project_id)
    if scope not in MEMORY_SCOPES:
        raise ValidationFailed(
            f"{scope!r} is not a memory scope; use one of {', '.join(MEMORY_SCOPES)}.",
            details={"field": "body.metadata.memory_scope", "expected": "memory scope"},
        )
    return public_place(principal)


def _no_scope_key() -> InvalidRequest:
    return InvalidRequest(
        "missing_scope_key",
        code="missing_scope_key",
        remediation="Name the project in metadata.project_id, or the team or memory space in metadata.scope_key.",
    )


_OTHER_SCOPE = "Use the scope `private`, `team`, `project` or `organization`."


def visible_beside(principal: Principal, project_id: str | None) -> frozenset[str]:
    """Return the caller's visibility keys without those of other projects."""
    if project_id is None:
        return principal.visible
    others = {key(project) for project in principal.project_roles for key in (project_key, members_key)}
    return principal.visible - (others - {project_key(project_id), members_key(project_id)})


def reaches_readers_of(principal: Principal, key: str, other: str) -> bool:
    """Return True if all readers of `other` may read `key`; the caller may read both."""
    if key in (ORGANIZATION, other) or other == private_key(principal.user_id):
        return True
    project_id = other.partition(":")[2]
    return other == members_key(project_id) and key == project_key(project_id)


def may_take_place(principal: Principal, ender: Set[str], ended: Set[str], is_open: Callable[[str], bool]) -> bool:
    """Return True if all readers of `ended` may read the fact that ends it.

    Readers of a fact hold all of its keys. `is_open` tells if the whole organization may read a project.
    """
    if not ender | ended <= principal.visible:
        return False
    if private_key(principal.user_id) in ended:
        return True
    more = ender - ended - {ORGANIZATION}
    projects = {key.removeprefix(project_key("")) for key in more if key.startswith(project_key(""))}
    return len(projects) == len(more) and all(members_key(each) in ended or is_open(each) for each in projects)


def require_scope_change(principal: Principal, entity: Entity) -> None:
    if principal.user_id != entity.principal_id and principal.role not in ADMINS:
        raise Forbidden(
            f"Only its author, an owner or an admin may change who can read {entity.id}.",
            remediation="Leave memory_scope and project_id as they are, or ask one of them.",
        )


def without_stamped(metadata: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {key: value for key, value in metadata.items() if key not in STAMPED}
