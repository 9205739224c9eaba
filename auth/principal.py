"""Authenticated caller of an operation, with the visibility keys that policy checks compare."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from auth.visibility import diary_key, members_key, memory_key, private_key, project_key, queue_key, space_key
from stores.records import ORGANIZATION, PROJECT_ROLES, Organization, ProjectRole, Role, User
from stores.spaces import LETTING_IN, MemorySpace, SpaceAccess, SpacePlace

Scope = Literal["mcp", "api:read", "api:write"]
SESSION_SCOPES: frozenset[Scope] = frozenset({"mcp", "api:read", "api:write"})


@dataclass(frozen=True, slots=True)
class Principal:
    """A user acting in one organization; its rights come from the ledger."""

    user: User
    organization: Organization
    role: Role
    session_id: str | None
    visible: frozenset[str]
    """Visibility keys of all readable entities."""
    project_roles: Mapping[str, ProjectRole] = field(hash=False)
    memories: frozenset[str] = frozenset()
    """Visibility keys of all readable raw memories."""
    memories_written: frozenset[str] = frozenset()
    """Keys of shared and delegated memories with write access."""
    switched_off: frozenset[str] = frozenset()
    """Keys that would be readable if their memory space were not disabled."""
    until: datetime | None = None
    """Expiry of the next membership in a memory space."""
    scopes: frozenset[Scope] = SESSION_SCOPES
    key_id: str | None = None
    is_narrowed: bool = False
    has_public_scope: bool = False
    grant_id: str | None = None
    audience: str | None = None
    """The only URL that accepts the credential; None for any."""

    @property
    def captures(self) -> frozenset[str]:
        return self.memories | {queue_key(key) for key in self.memories}

    @property
    def own_memories(self) -> frozenset[str]:
        return self.memories & {memory_key(private_key(self.user_id))}

    @property
    def readable(self) -> frozenset[str]:
        return self.visible | self.captures

    @property
    def user_id(self) -> str:
        return self.user.id

    @property
    def organization_id(self) -> str:
        return self.organization.id

    def may_write_for(self, visibility: str) -> bool:
        """Return False for the key of a memory space without write access."""
        is_of_space = visibility.startswith(tuple(f"{scope}:" for scope in LETTING_IN))
        return not is_of_space or memory_key(visibility) in self.memories_written

    def may_write_in(self, project_id: str, least: ProjectRole = "project_contributor") -> bool:
        """Return True for this role or a higher one, except for organization viewers."""
        role = self.project_roles.get(project_id, "project_viewer")
        return self.role != "viewer" and PROJECT_ROLES.index(role) >= PROJECT_ROLES.index(least)


MOST = 4_096


class RecentPrincipals:
    """Cache of callers by token, emptied when it is full."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Principal, int, float]] = {}

    def get(self, token: str, version: int, now: float) -> Principal | None:
        principal, known, until = self._found.get(token, (None, 0, 0.0))
        return principal if known == version and until > now else None

    def keep(self, token: str, principal: Principal, version: int, until: float) -> None:
        """Keep a caller for one version of the ledger, at most until a time in seconds since 1970."""
        if len(self._found) >= MOST:
            self._found.clear()
        self._found[token] = principal, version, until


def with_spaces(principal: Principal, access: SpaceAccess) -> Principal:
    """Add the keys that spaces grant, and remove those of disabled spaces."""
    off = {key for place in access.disabled for key in memory_keys(place)}
    member_of = {key for place in access.disabled if place[0] in LETTING_IN for key in memory_keys(place)}
    return replace(
        principal,
        memories=principal.memories - off,
        memories_written=frozenset(memory_key(space_key(*each.place)) for each in access.granted if each.writes),
        switched_off=frozenset((principal.memories | member_of) & off),
        until=access.until,
    )


def memory_keys(place: SpacePlace) -> frozenset[str]:
    scope, key = place
    found = {memory_key(each) for each in _entity_keys(place) - {project_key(key)}}
    return frozenset(found | {diary_key(key)} if scope == "private" else found)


def _entity_keys(place: SpacePlace) -> frozenset[str]:
    scope, key = place
    if scope == "organization":
        return frozenset({ORGANIZATION})
    if scope == "project":
        return frozenset({project_key(key), members_key(key)})
    return frozenset({space_key(scope, key)}) if scope in ("private", "team", *LETTING_IN) else frozenset()


def place_of(space: MemorySpace) -> SpacePlace:
    return space.memory_scope, space.scope_key


def reaches(principal: Principal, space: MemorySpace) -> bool:
    place = place_of(space)
    found = (_entity_keys(place) & principal.visible) | (memory_keys(place) & principal.memories)
    return space.state == "active" and bool(found)


def narrowed_to(principal: Principal, project_ids: Iterable[str]) -> Principal:
    """Restrict a caller to some of its projects, without its private records."""
    places = [("project", each) for each in project_ids if each in principal.project_roles]
    return _narrowed(principal, places, places)


def narrowed_to_spaces(principal: Principal, spaces: Iterable[MemorySpace]) -> Principal:
    """Restrict a caller to the records and memories of some spaces; a project's space has its readable records."""
    named = list(spaces)
    places = [place_of(space) for space in named if reaches(principal, space)]
    return _narrowed(principal, places, map(place_of, named))


def _narrowed(principal: Principal, places: Sequence[SpacePlace], named: Iterable[SpacePlace]) -> Principal:
    memories = {key for place in places for key in memory_keys(place)}
    return replace(
        principal,
        visible=principal.visible & {key for place in places for key in _entity_keys(place)},
        memories=principal.memories & memories,
        memories_written=principal.memories_written & memories,
        switched_off=principal.switched_off & {key for place in named for key in memory_keys(place)},
        project_roles={key: role for key, role in principal.project_roles.items() if ("project", key) in places},
        is_narrowed=True,
    )
