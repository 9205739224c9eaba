"""Effect of memory spaces on a caller's visibility keys."""

from collections.abc import Iterable
from dataclasses import replace

from auth.principal import Principal
from auth.visibility import diary_key, members_key, memory_key, private_key, project_key, space_key, team_key
from stores.records import ORGANIZATION
from stores.space_access import LETTING_IN, SpaceAccess, SpacePlace
from stores.spaces import MemorySpace


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
    if scope == "private":
        return frozenset({private_key(key)})
    if scope == "project":
        return frozenset({project_key(key), members_key(key)})
    if scope == "team":
        return frozenset({team_key(key)})
    return frozenset({space_key(scope, key)}) if scope in LETTING_IN else frozenset()


def place_of(space: MemorySpace) -> SpacePlace:
    return space.memory_scope, space.scope_key or ""


def reaches(principal: Principal, space: MemorySpace) -> bool:
    place = place_of(space)
    found = (_entity_keys(place) & principal.visible) | (memory_keys(place) & principal.memories)
    return space.state == "active" and bool(found)


def narrowed_to_spaces(principal: Principal, spaces: Iterable[MemorySpace]) -> Principal:
    """Restrict a caller to the records and memories of some spaces; a project's space has its readable records."""
    named = list(spaces)
    places = [place_of(space) for space in named if reaches(principal, space)]
    entities = frozenset(key for place in places for key in _entity_keys(place))
    memories = frozenset(key for place in places for key in memory_keys(place))
    projects = {key for scope, key in places if scope == "project"}
    return replace(
        principal,
        visible=principal.visible & entities,
        memories=principal.memories & memories,
        memories_written=principal.memories_written & memories,
        switched_off=principal.switched_off & {key for space in named for key in memory_keys(place_of(space))},
        project_roles={key: role for key, role in principal.project_roles.items() if key in projects},
        is_narrowed=True,
    )
