from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from stores.errors import Forbidden, InvalidRequest, NotFound, ValidationFailed
from stores.ledger import Ledger, Permit
from stores.records import Role
from stores.space_access import SpaceGrant
from stores.spaces import MemberDraft, MemorySpace, SpaceChange, SpaceMember
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, actions, deed

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


def test_a_space_is_stored_once_for_its_scope_and_key(ledger: Ledger, crew: MemorySpace) -> None:
    assert ledger.spaces.space(ORG, "s1") == crew == ledger.spaces.create(space("s2", name="Another"), audit=deed("x"))
    assert actions(ledger) == ["memory.space.create"]
    keyless = ledger.spaces.create(space("s3", "organization", None))
    assert ledger.spaces.create(space("s4", "organization", None)) == keyless == ledger.spaces.space(ORG, "s3")
    assert ledger.spaces.create(space("s5", "delegated")).id == "s5"
    assert ledger.spaces.create(replace(space("s1"), organization_id=OTHER)).organization_id == OTHER


def test_spaces_are_listed_the_oldest_first_without_those_of_others(ledger: Ledger, crew: MemorySpace) -> None:
    later = crew.created_at + timedelta(days=1)
    ledger.spaces.create(space("b", "private", BOB, created_at=later))
    ledger.spaces.create(space("a", "private", ANN, created_at=later))
    assert [each.id for each in ledger.spaces.spaces(ORG, ANN)] == ["s1", "a"]
    assert [each.id for each in ledger.spaces.spaces(ORG, BOB)] == ["s1", "b"]
    assert {each.id for each in ledger.spaces.some(ORG, ["b", "s1", "absent"])} == {"b", "s1"}
    assert ledger.spaces.some(OTHER, ["s1"]) == []


def test_a_change_merges_metadata_and_leaves_the_rest(ledger: Ledger, crew: MemorySpace) -> None:
    changed = ledger.spaces.edit(
        ORG, "s1", SpaceChange(name="New", metadata={"b": 2}), audit=deed("memory.space.update")
    )
    assert (changed.name, changed.description, changed.metadata) == ("New", None, {"a": 1, "b": 2})
    assert changed.updated_at > crew.updated_at
    assert changed == ledger.spaces.space(ORG, "s1")
    with pytest.raises(NotFound, match="memory_space_not_found"):
        ledger.spaces.edit(OTHER, "s1", SpaceChange(name="x"))


def test_a_members_rights_are_the_latest_that_were_given(
    ledger: Ledger, crew: MemorySpace, clock: SteppingClock
) -> None:
    first = put(ledger, BOB)
    until = clock.now + timedelta(days=1)
    second = put(ledger, BOB, "writer", permissions=("note",), expires_at=until)
    assert (second.id, second.created_at) == (first.id, first.created_at)
    assert second.updated_at > first.updated_at
    assert (second.role, second.permissions, second.expires_at) == ("writer", ("note",), until)
    assert ledger.spaces.members(ORG, "s1")[1:] == [second]
    assert ledger.people.access(BOB, ORG).spaces.granted == (SpaceGrant(("shared", "crew"), True, until),)
    assert ledger.people.access(BOB, ORG).spaces.until == until


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
    with pytest.raises(InvalidRequest, match="no member"):
        put(ledger, BOB)
    with pytest.raises(NotFound, match="memory_space_not_found"):
        put(ledger, ANN, space_id="absent")


def test_what_no_index_could_hold_is_refused(ledger: Ledger, crew: MemorySpace) -> None:
    for bad in (space("s2", key="k" * 390), space("s2", key="a\0"), space("s2", key="x", name="\ud800")):
        with pytest.raises(ValidationFailed):
            ledger.spaces.create(bad)
    with pytest.raises(ValidationFailed):
        put(ledger, "é" * 300, principal_type="agent")
    assert ledger.spaces.create(space("s2", key="k" * 380)).scope_key == "k" * 380


DEEDS: dict[str, Callable[[Ledger, Permit], object]] = {
    "create": lambda ledger, permit: ledger.spaces.create(space("s2", key="other"), permit=permit),
    "edit": lambda ledger, permit: ledger.spaces.edit(ORG, "s1", SpaceChange(name="x"), permit=permit),
    "put": lambda ledger, permit: ledger.spaces.put_member(
        ORG, "s1", MemberDraft("user", BOB, "owner"), ANN, permit=permit
    ),
}


@pytest.mark.parametrize("name", DEEDS)
def test_a_permit_is_asked_before_anything_changes(ledger: Ledger, crew: MemorySpace, name: str) -> None:
    def check(actor: Role | None, _before: Role | None) -> None:
        raise Forbidden(str(actor))

    with pytest.raises(Forbidden, match="member"):
        DEEDS[name](ledger, Permit(BOB, check))
    assert ledger.spaces.spaces(ORG, ANN) == [crew]
    assert len(ledger.spaces.members(ORG, "s1")) == 1


def test_each_change_of_a_space_changes_the_version(ledger: Ledger, crew: MemorySpace) -> None:
    versions = [ledger.version()]
    if versions == [None]:
        return
    for deed_ in (
        lambda: put(ledger, BOB),
        lambda: put(ledger, BOB, "writer"),
        lambda: ledger.spaces.edit(ORG, "s1", SpaceChange(state="disabled")),
    ):
        deed_()
        versions.append(ledger.version())
    assert len(set(versions)) == 4
