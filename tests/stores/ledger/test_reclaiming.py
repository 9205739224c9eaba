from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from stores.ledger import AuditQuery, Ledger
from stores.records import ExternalIdentity, Invitation, Team, User
from tests.stores.ledger.samples import (
    ANN,
    BOB,
    DAYS_30,
    ORG,
    OTHER,
    SteppingClock,
    actions,
    add_project,
    api_key,
    deed,
    organization,
    session,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
Prove = Callable[[Ledger], User]


def prove_by_link(ledger: Ledger) -> User:
    link = ExternalIdentity("oidc", "sub-1", BOB, f"{BOB}@Example.org", NOW)
    return ledger.people.link_user(link, vouched=True, audit=deed("user.link", OTHER, actor_id=BOB))


def prove_by_reset(ledger: Ledger) -> User:
    ledger.people.create_password_reset(BOB, "token", NOW + timedelta(days=1))
    return ledger.people.reset_password("token", "new", deed("user.password_reset", OTHER, actor_id=BOB))


ways = pytest.mark.parametrize("prove", [prove_by_link, prove_by_reset], ids=["link", "reset"])


@pytest.fixture
def squatted(ledger: Ledger, clock: SteppingClock) -> Ledger:
    clock.now += timedelta(hours=1)
    ledger.people.add_membership(ANN, OTHER, "owner")
    add_project(ledger, "p1", creator=BOB, organization_id=OTHER)
    ledger.project_members.add(OTHER, "p1", ANN, "project_maintainer")
    ledger.teams.create(Team(OTHER, "t1", "T", "t", "", clock.now))
    ledger.teams.add_member(OTHER, "t1", ANN)
    ledger.people.create_organization(organization("shared", is_personal=False), ANN)
    ledger.people.add_membership(BOB, "shared", "member")
    for user_id, organization_id in ((BOB, OTHER), (BOB, "shared"), (ANN, OTHER), (ANN, ORG), (ANN, "shared")):
        name = f"{user_id}-{organization_id}"
        ledger.people.create_session(session(name, user_id, organization_id))
        ledger.api_keys.create(api_key(name, user_id, organization_id), "hash")
    invited = Invitation("i1", OTHER, "eve@example.org", "owner", BOB, clock.now, clock.now + DAYS_30)
    ledger.invitations.create(invited, "invited")
    ledger.people.link_user(ExternalIdentity("oidc", "squatters", BOB, None, clock.now))
    return ledger


@ways
def test_whoever_was_let_into_the_personal_organization_leaves_it_with_all_they_had_there(
    squatted: Ledger, prove: Prove
) -> None:
    prove(squatted)
    assert [each.user.id for each in squatted.people.members(OTHER)] == [BOB]
    assert {each.organization_id for each in squatted.people.sessions(ANN)} == {ORG, "shared"}
    assert squatted.api_keys.find(f"sk_{ANN}-{OTHER}") is None
    assert squatted.api_keys.find(f"sk_{ANN}-shared") is not None
    assert squatted.invitations.by_token("invited") is None
    removal, *_ = squatted.audit.entries(AuditQuery(OTHER, action="member.remove"))
    assert (removal.draft.resource, removal.draft.details) == (ANN, {"reason": "address_proved"})
    squatted.people.add_membership(ANN, OTHER, "viewer")
    access = squatted.people.access(ANN, OTHER)
    assert (access.roles, access.team_ids) == ({}, frozenset())


@ways
def test_whoever_was_demoted_at_home_owns_it_again_and_organizations_of_others_stay(
    squatted: Ledger, prove: Prove
) -> None:
    squatted.people.put_member(BOB, OTHER, "viewer")
    squatted.people.add_membership(BOB, ORG, "owner")
    prove(squatted)
    assert [(each.user.id, each.role) for each in squatted.people.members(OTHER)] == [(BOB, "owner")]
    assert {each.user.id for each in squatted.people.members("shared")} == {ANN, BOB}
    assert [each.user.id for each in squatted.people.members(ORG)] == [ANN, BOB]


@ways
def test_an_account_whose_address_was_proved_before_keeps_its_keys_links_and_guests(
    squatted: Ledger, clock: SteppingClock, prove: Prove
) -> None:
    squatted.people.edit_user(BOB, lambda user: replace(user, email_verified_at=clock.now))
    prove(squatted)
    assert squatted.api_keys.find(f"sk_{BOB}-{OTHER}") is not None
    assert squatted.people.user_by_link("oidc", "squatters") is not None
    assert {each.user.id for each in squatted.people.members(OTHER)} == {ANN, BOB}
    assert squatted.invitations.by_token("invited") is not None
    assert "member.remove" not in actions(squatted, OTHER)
