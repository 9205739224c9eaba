import pytest

from stores.errors import NotFound
from stores.ledger import Ledger
from stores.records import Team
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
    session,
)


@pytest.fixture
def bob(ledger: Ledger) -> str:
    ledger.people.add_membership(BOB, ORG, "member", audit=deed("member.add"))
    return BOB


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
