from collections.abc import Callable

import pytest

from stores.errors import Conflict, Forbidden, NotFound
from stores.ledger import Ledger, Permit
from stores.records import Role, Team
from tests.stores.ledger.samples import (
    ANN,
    BOB,
    ORG,
    OTHER,
    SteppingClock,
    actions,
    add_project,
    api_key,
    deed,
    organization,
    person,
    session,
    winners,
)

CAT = "user-cat"
SHARED = "shared"


@pytest.fixture
def bob(ledger: Ledger) -> str:
    ledger.people.add_membership(BOB, ORG, "member", audit=deed("member.add"))
    return BOB


@pytest.fixture
def shared(ledger: Ledger) -> str:
    ledger.people.create_organization(organization(SHARED, is_personal=False), ANN)
    ledger.people.add_membership(BOB, SHARED, "owner")
    return SHARED


def owners(ledger: Ledger, organization_id: str = ORG) -> list[str]:
    return [each.user.id for each in ledger.people.members(organization_id) if each.role == "owner"]


@pytest.mark.parametrize(
    "leave",
    [
        lambda ledger, user_id: ledger.people.set_member_role(SHARED, user_id, "member"),
        lambda ledger, user_id: ledger.people.remove_member(SHARED, user_id),
    ],
    ids=["stepping down", "leaving"],
)
def test_of_owners_who_go_at_once_one_stays(
    ledger: Ledger, second: Ledger, shared: str, leave: Callable[[Ledger, str], object]
) -> None:
    def go(place: int) -> None:
        leave((ledger, second)[place], (ANN, BOB)[place])

    for _ in range(5):
        assert winners(go, Conflict, 2) == 1
        assert len(owners(ledger, shared)) == 1
        for user_id in (ANN, BOB):
            ledger.people.put_member(user_id, SHARED, "owner")


@pytest.mark.parametrize("deed_name", ["add", "change", "remove"])
def test_a_permit_is_asked_with_the_roles_of_the_moment_and_its_refusal_writes_nothing(
    ledger: Ledger, bob: str, deed_name: str
) -> None:
    asked: list[tuple[Role | None, Role | None]] = []

    def check(actor: Role | None, before: Role | None) -> None:
        asked.append((actor, before))
        if actor != "owner":
            raise Forbidden(f"{actor} touches {before}")

    writes: dict[str, Callable[[Permit], object]] = {
        "add": lambda permit: ledger.people.add_membership(CAT, ORG, "viewer", audit=deed("x"), permit=permit),
        "change": lambda permit: ledger.people.set_member_role(ORG, BOB, "admin", audit=deed("x"), permit=permit),
        "remove": lambda permit: ledger.people.remove_member(ORG, BOB, audit=deed("x"), permit=permit),
    }
    ledger.people.create_account(person(CAT), organization("org-cat"))
    for actor in (CAT, BOB):
        with pytest.raises(Forbidden, match="touches"):
            writes[deed_name](Permit(actor, check))
    assert [(each.user.id, each.role) for each in ledger.people.members(ORG)] == [(ANN, "owner"), (BOB, "member")]
    assert actions(ledger) == ["member.add"]
    writes[deed_name](Permit(ANN, check))
    before = None if deed_name == "add" else "member"
    assert asked == [(None, before), ("member", before), ("owner", before)]


def test_whoever_is_removed_loses_everything_in_the_organization_and_nothing_elsewhere(
    ledger: Ledger, clock: SteppingClock, bob: str
) -> None:
    add_project(ledger, "p1")
    ledger.project_members.add(ORG, "p1", BOB, "project_viewer")
    ledger.teams.create(Team(ORG, "t1", "T", "t", "", clock.now))
    ledger.teams.add_member(ORG, "t1", BOB)
    for organization_id in (ORG, OTHER):
        ledger.people.create_session(session(f"in-{organization_id}", BOB, organization_id))
        ledger.api_keys.create(api_key(organization_id, BOB, organization_id), "hash")

    assert ledger.people.remove_member(ORG, BOB, audit=deed("member.remove")) == "member"

    assert [each.organization_id for each in ledger.people.sessions(BOB)] == [OTHER]
    assert ledger.api_keys.find(f"sk_{ORG}") is None
    assert ledger.api_keys.find(f"sk_{OTHER}") is not None
    ledger.people.add_membership(BOB, ORG, "member")
    access = ledger.people.access(BOB, ORG)
    assert (access.roles, access.team_ids) == ({}, frozenset())
    assert ledger.people.identity(BOB, ORG, f"in-{ORG}") is None
    assert ledger.api_keys.find(f"sk_{ORG}") is None
    assert actions(ledger)[0] == "member.remove"
    with pytest.raises(NotFound):
        ledger.people.remove_member(ORG, "nobody")


def test_a_provider_ends_no_membership_twice_and_none_at_home(ledger: Ledger, bob: str) -> None:
    assert [ledger.people.drop_member(each, ORG) for each in (bob, bob, ANN)] == ["member", None, None]
    assert [each.user.id for each in ledger.people.members(ORG)] == [ANN]
