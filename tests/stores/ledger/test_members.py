from collections.abc import Callable

import pytest

from stores.errors import Conflict, Forbidden, NotFound
from stores.ledger import AuditQuery, Ledger, Permit
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
    ledger.people.add_membership(BOB, ORG, "member", deed("member.add"))
    return BOB


@pytest.fixture
def shared(ledger: Ledger) -> str:
    ledger.people.create_organization(organization(SHARED, is_personal=False), ANN)
    ledger.people.add_membership(BOB, SHARED, "owner")
    return SHARED


def owners(ledger: Ledger, organization_id: str = ORG) -> list[str]:
    return [each.user.id for each in ledger.people.members(organization_id) if each.role == "owner"]


def test_a_membership_needs_both_sides_and_exists_once(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        ledger.people.add_membership("nobody", ORG, "member")
    with pytest.raises(NotFound):
        ledger.people.add_membership(ANN, "nowhere", "member")
    with pytest.raises(Conflict):
        ledger.people.add_membership(ANN, ORG, "member", deed("member.add"))
    assert actions(ledger) == []


def test_members_are_listed_in_the_order_of_joining(ledger: Ledger, bob: str) -> None:
    assert [(each.user.id, each.role) for each in ledger.people.members(ORG)] == [(ANN, "owner"), (BOB, "member")]
    found = ledger.people.member(ORG, BOB)
    assert found.user == ledger.people.user(BOB)
    assert ledger.people.member(OTHER, ANN) is None


def test_the_last_owner_stays(ledger: Ledger, shared: str) -> None:
    ledger.people.set_member_role(shared, BOB, "admin")
    with pytest.raises(Conflict, match="last owner"):
        ledger.people.set_member_role(shared, ANN, "admin")
    with pytest.raises(Conflict, match="last owner"):
        ledger.people.remove_member(shared, ANN)
    assert ledger.people.set_member_role(shared, ANN, "owner") == "owner"
    assert owners(ledger, shared) == [ANN]


def test_nobody_is_put_out_of_the_own_personal_organization(ledger: Ledger) -> None:
    ledger.people.add_membership(BOB, ORG, "owner")
    with pytest.raises(Conflict, match="personal"):
        ledger.people.set_member_role(ORG, ANN, "member", deed("x"))
    with pytest.raises(Conflict, match="personal"):
        ledger.people.remove_member(ORG, ANN, deed("x"))
    home = ledger.people.default_organization(ANN)
    assert (owners(ledger), home and home.id, actions(ledger)) == ([ANN, BOB], ORG, [])
    assert ledger.people.remove_member(ORG, BOB) == "owner"


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
        "add": lambda permit: ledger.people.add_membership(CAT, ORG, "viewer", deed("x"), permit=permit),
        "change": lambda permit: ledger.people.set_member_role(ORG, BOB, "admin", deed("x"), permit=permit),
        "remove": lambda permit: ledger.people.remove_member(ORG, BOB, deed("x"), permit=permit),
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


def test_a_provider_has_the_last_word_on_roles(ledger: Ledger) -> None:
    assert ledger.people.put_member(BOB, ORG, "viewer", deed("member.add")) is None
    assert ledger.people.put_member(BOB, ORG, "viewer", deed("member.update")) == "viewer"
    assert ledger.people.put_member(ANN, ORG, "member", deed("member.update")) == "owner"
    assert owners(ledger) == []
    assert actions(ledger) == ["member.update", "member.add"]
    with pytest.raises(NotFound):
        ledger.people.put_member("nobody", ORG, "viewer")
    with pytest.raises(NotFound):
        ledger.people.put_member(BOB, "nowhere", "viewer")


def test_a_provider_has_the_last_word_on_memberships(ledger: Ledger, clock: SteppingClock) -> None:
    ledger.people.create_organization(organization("shared", is_personal=False), ANN)
    ledger.people.create_session(session("s1", ANN, "shared"))
    ledger.api_keys.create(api_key("k1", ANN, "shared"), "hash")
    assert ledger.people.drop_member(ANN, "shared", deed("member.lose_role", "shared")) == "owner"
    assert ledger.people.members("shared") == ledger.people.sessions(ANN) == []
    assert ledger.api_keys.find("sk_k1") is None
    for organization_id in ("shared", ORG):
        assert ledger.people.drop_member(ANN, organization_id, deed("member.lose_role", organization_id)) is None
    assert [each.user.id for each in ledger.people.members(ORG)] == [ANN]
    assert actions(ledger) == []
    (entry,) = ledger.audit.entries(AuditQuery("shared"))
    assert (entry.draft.action, entry.draft.details) == ("member.lose_role", {"from": "owner"})
    with pytest.raises(NotFound):
        ledger.people.drop_member(ANN, "nowhere")


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

    assert ledger.people.remove_member(ORG, BOB, deed("member.remove")) == "member"

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
