from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from stores.errors import InvalidRequest
from stores.ledger import Ledger
from stores.records import Invitation, Role
from tests.stores.ledger.samples import ANN, BOB, DAYS_30, ORG, SteppingClock, organization, person, winners

JOINS: dict[str, Callable[[Ledger], object]] = {
    "added": lambda ledger: ledger.people.add_membership(BOB, ORG, "member"),
    "by a provider": lambda ledger: ledger.people.put_member(BOB, ORG, "member"),
    "invited": lambda ledger: ledger.invitations.accept("token", BOB),
}


@pytest.mark.parametrize("way", JOINS)
def test_whoever_joined_and_was_removed_does_not_come_back_by_an_old_invitation(
    ledger: Ledger, clock: SteppingClock, way: str
) -> None:
    made = Invitation("i1", ORG, f"{BOB}@example.org", "admin", ANN, clock.now, clock.now + DAYS_30)
    ledger.people.create_organization(organization("shared", is_personal=False), ANN)
    ledger.invitations.create(replace(made, id="elsewhere", organization_id="shared"), "elsewhere")
    ledger.invitations.create(made, "token")
    JOINS[way](ledger)
    ledger.people.remove_member(ORG, BOB)
    with pytest.raises(InvalidRequest, match="revoked"):
        ledger.invitations.accept("token", BOB)
    assert ledger.people.member(ORG, BOB) is None
    assert ledger.invitations.by_token("elsewhere") is not None, "those of other organizations hold"


LOSSES: dict[str, Callable[[Ledger], object]] = {
    "removed": lambda ledger: ledger.people.remove_member(ORG, BOB),
    "demoted": lambda ledger: ledger.people.set_member_role(ORG, BOB, "member"),
    "demoted by a provider": lambda ledger: ledger.people.put_member(BOB, ORG, "viewer"),
    "deleted": lambda ledger: ledger.people.delete_user(BOB),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_an_invitation_holds_as_long_as_the_right_to_make_it(ledger: Ledger, clock: SteppingClock, loss: str) -> None:
    ledger.people.create_account(person("eve"), organization("org-eve"))
    ledger.people.add_membership(BOB, ORG, "owner")
    made = Invitation("i1", ORG, "eve@example.org", "owner", BOB, clock.now, clock.now + DAYS_30)
    ledger.invitations.create(made, "token")
    ledger.invitations.create(replace(made, id="i2", email="c@x.org", invited_by=ANN), "by-ann")

    LOSSES[loss](ledger)

    assert [each.id for each in ledger.invitations.pending(ORG)] == ["i2"]
    if loss != "deleted":
        ledger.people.put_member(BOB, ORG, "owner")
    assert ledger.invitations.by_token("token") is None, "a role that comes back brings no invitation back"
    with pytest.raises(InvalidRequest, match="revoked"):
        ledger.invitations.accept("token", "eve")
    assert ledger.people.member(ORG, "eve") is None


def test_an_owner_who_becomes_an_admin_still_invites_members(ledger: Ledger, clock: SteppingClock) -> None:
    ledger.people.add_membership(BOB, ORG, "owner")
    roles: tuple[Role, ...] = ("owner", "admin", "member", "viewer")
    for role in roles:
        made = Invitation(role, ORG, f"{role}@x.org", role, BOB, clock.now, clock.now + DAYS_30)
        ledger.invitations.create(made, role)
    ledger.people.set_member_role(ORG, BOB, "admin")
    assert {each.id for each in ledger.invitations.pending(ORG)} == {"admin", "member", "viewer"}


def test_an_invitation_and_the_demotion_of_its_maker_at_once_leave_no_owner(
    ledger: Ledger, second: Ledger, clock: SteppingClock
) -> None:
    ledger.people.add_membership(BOB, ORG, "owner")
    for number in range(5):
        eve = f"eve-{number}"
        ledger.people.create_account(person(eve), organization(f"org-{eve}"))
        ledger.people.put_member(BOB, ORG, "owner")
        made = Invitation(eve, ORG, f"{eve}@example.org", "owner", BOB, clock.now, clock.now + 1000 * DAYS_30)
        ledger.invitations.create(made, eve)
        with ThreadPoolExecutor(2) as pool:
            removed = pool.submit(ledger.people.remove_member, ORG, BOB)
            accepted = pool.submit(second.invitations.accept, eve, eve)
        refused = isinstance(accepted.exception(), InvalidRequest)
        assert removed.exception() is None
        assert (ledger.people.member(ORG, eve) is None) == refused


def test_of_many_who_accept_at_once_one_succeeds(ledger: Ledger, second: Ledger, clock: SteppingClock) -> None:
    made = Invitation("i1", ORG, f"{BOB}@example.org", "member", ANN, clock.now, clock.now + 1000 * DAYS_30)
    ledger.invitations.create(made, "token")

    def accept(number: int) -> None:
        (ledger, second)[number % 2].invitations.accept("token", BOB)

    assert winners(accept, InvalidRequest) == 1


def test_an_invitation_that_expired_makes_nobody_a_member(ledger: Ledger, clock: SteppingClock) -> None:
    made = Invitation("i1", ORG, f"{BOB}@example.org", "admin", ANN, clock.now, clock.now + DAYS_30)
    ledger.invitations.create(made, "expired")
    clock.now = made.expires_at
    assert ledger.invitations.pending(ORG) == []
    assert ledger.invitations.by_token("expired") is None
    with pytest.raises(InvalidRequest):
        ledger.invitations.accept("expired", BOB)
    assert ledger.people.member(ORG, BOB) is None
