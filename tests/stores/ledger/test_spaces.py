from dataclasses import replace
from datetime import datetime

import pytest

from stores.errors import InvalidRequest, NotFound
from stores.ledger import Ledger, Permit
from stores.spaces import MemberDraft, MemorySpace, SpaceMember
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, deed

ANNS = Permit(ANN, lambda _actor, _before: None)


def space(space_id: str = "s1", scope: str = "shared", key: str | None = "crew", **changes: object) -> MemorySpace:
    at = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    made = MemorySpace(ORG, space_id, scope, key, "Crew", None, "active", None, {"a": 1}, ANN, at, at)
    return replace(made, **changes)  # type: ignore[arg-type]  # fields by name


def put(ledger: Ledger, principal_id: str, role: str = "reader", space_id: str = "s1", **more: object) -> SpaceMember:
    draft = replace(MemberDraft("user", principal_id, role), **more)  # type: ignore[arg-type]  # fields by name
    return ledger.spaces.put_member(ORG, space_id, draft, ANN, permit=ANNS)


@pytest.fixture
def crew(ledger: Ledger) -> MemorySpace:
    ledger.people.add_membership(BOB, ORG, "member")
    return ledger.spaces.create(space(), audit=deed("memory.space.create"))


def grants(ledger: Ledger, user_id: str = BOB) -> dict[str, bool]:
    return {":".join(each.place): each.writes for each in ledger.people.access(user_id, ORG).spaces.granted}


def test_a_change_merges_metadata_and_leaves_the_rest(ledger: Ledger, crew: MemorySpace) -> None:
    changed = ledger.spaces.edit(ORG, "s1", {"name": "New", "metadata": {"b": 2}}, audit=deed("memory.space.update"))
    assert (changed.name, changed.description, changed.metadata) == ("New", None, {"a": 1, "b": 2})
    assert changed.updated_at > crew.updated_at
    assert changed == ledger.spaces.space(ORG, "s1")
    with pytest.raises(NotFound, match="memory_space_not_found"):
        ledger.spaces.edit(OTHER, "s1", {"name": "x"})


@pytest.mark.parametrize(
    ("role", "permissions", "given"),
    [("reader", (), False), ("writer", (), True), ("maintainer", (), True), ("owner", (), True),
     ("reader", ("write",), True), ("guest", ("read",), False), ("guest", ("write",), True),
     ("guest", ("admin",), None), ("Writer", (), None)],
)  # fmt: skip
def test_what_roles_and_permissions_give(
    ledger: Ledger, crew: MemorySpace, role: str, permissions: tuple[str, ...], given: bool | None
) -> None:
    put(ledger, BOB, role, permissions=permissions)
    assert grants(ledger) == ({} if given is None else {"shared:crew": given})


def test_agents_are_kept_and_let_nobody_in(ledger: Ledger, crew: MemorySpace) -> None:
    put(ledger, BOB, principal_type="agent")
    assert [each.principal_type for each in ledger.spaces.members(ORG, "s1")] == ["user", "agent"]
    assert grants(ledger) == {}


def test_who_leaves_is_in_no_space_any_more_and_comes_back_to_none(ledger: Ledger, crew: MemorySpace) -> None:
    put(ledger, BOB)
    put(ledger, BOB, principal_type="agent")
    ledger.people.remove_member(ORG, BOB)
    ledger.people.add_membership(BOB, ORG, "member")
    assert grants(ledger) == {}
    assert [each.principal_type for each in ledger.spaces.members(ORG, "s1")] == ["user", "agent"]
    put(ledger, BOB)
    ledger.people.delete_user(BOB)
    assert [each.principal_type for each in ledger.spaces.members(ORG, "s1")] == ["user", "agent"]


def test_whoever_is_no_member_of_the_organization_joins_no_space(ledger: Ledger) -> None:
    ledger.spaces.create(space())
    with pytest.raises(InvalidRequest, match="not a member"):
        put(ledger, BOB)
    with pytest.raises(NotFound, match="memory_space_not_found"):
        put(ledger, ANN, space_id="absent")
