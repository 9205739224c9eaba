from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from stores.errors import Conflict, NotFound
from stores.ledger import Ledger
from stores.records import Identity, ProjectAccess, Session
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, organization, person


def test_the_first_user_of_a_ledger_is_its_admin(ledger: Ledger) -> None:
    ann, bob = ledger.user(ANN), ledger.user(BOB)
    assert ann == replace(person(ANN), is_admin=True)
    assert bob == person(BOB)
    assert ledger.user_count() == 2


def test_of_many_first_users_at_once_one_becomes_admin(url: str) -> None:
    empty = Ledger.open(url)
    with ThreadPoolExecutor(4) as pool:
        created = list(pool.map(lambda n: empty.create_account(person(f"u{n}"), organization(f"o{n}")), range(8)))
    assert sum(user.is_admin for user in created) == 1
    empty.close()


@pytest.mark.parametrize("email", ["user-ann@example.org", "USER-Ann@EXAMPLE.org"])
def test_an_email_is_in_use_in_whatever_case(ledger: Ledger, email: str) -> None:
    with pytest.raises(Conflict, match="Email is already in use"):
        ledger.create_account(person("u3", email=email), organization("o3"))
    found = ledger.user_by_email(email)
    assert found is not None
    assert found.id == ANN
    assert ledger.user("u3") is None
    assert ledger.user_by_email("nobody@example.org") is None


def test_a_taken_slug_or_id_is_a_conflict_that_leaves_nothing_behind(ledger: Ledger) -> None:
    with pytest.raises(Conflict):
        ledger.create_account(person("u3"), replace(organization("o3"), slug=organization(ORG).slug))
    with pytest.raises(Conflict):
        ledger.create_organization(organization(ORG))
    assert ledger.user("u3") is None
    assert [each.id for each in ledger.organizations()] == [ORG, OTHER]
    assert ledger.organization(ORG) == organization(ORG)
    assert ledger.organization("o3") is None


def test_a_user_of_the_code_host_is_found_by_that_id(ledger: Ledger) -> None:
    ledger.create_account(replace(person("u3"), codehost_id=2**40), organization("o3"))
    found = ledger.user_by_codehost(2**40)
    assert found is not None
    assert found.id == "u3"
    assert ledger.user_by_codehost(7) is None


def test_memberships_begin_with_the_personal_organization(ledger: Ledger) -> None:
    ledger.create_organization(organization("shared", is_personal=False), ANN)
    ledger.add_membership(ANN, OTHER, "viewer")
    assert [(each.id, role) for each, role in ledger.memberships(ANN)] == [
        (ORG, "owner"),
        (OTHER, "viewer"),
        ("shared", "owner"),
    ]
    assert ledger.default_organization(ANN) == organization(ORG)
    assert ledger.default_organization("nobody") is None


def test_a_membership_needs_both_sides_and_exists_once(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        ledger.add_membership("nobody", ORG, "member")
    with pytest.raises(NotFound):
        ledger.add_membership(ANN, "nowhere", "member")
    with pytest.raises(Conflict):
        ledger.add_membership(ANN, ORG, "member")


def test_a_password_is_replaced(ledger: Ledger) -> None:
    ledger.set_password_hash(ANN, None)
    ann = ledger.user(ANN)
    assert ann is not None
    assert ann.password_hash is None
    with pytest.raises(NotFound):
        ledger.set_password_hash("nobody", "hash")


def test_an_identity_is_user_organization_role_and_session(ledger: Ledger, clock: SteppingClock) -> None:
    session = Session("s1", ANN, ORG, "r1", clock.now, clock.now + timedelta(days=30), None)
    ledger.create_session(session)
    ann = replace(person(ANN), is_admin=True)
    assert ledger.identity(ANN, ORG, "s1") == Identity(ann, organization(ORG), "owner", session)
    assert ledger.identity(ANN, ORG, None) == Identity(ann, organization(ORG), "owner", None)


def test_there_is_no_identity_without_membership_or_with_a_session_that_does_not_hold(
    ledger: Ledger, clock: SteppingClock
) -> None:
    later = clock.now + timedelta(days=30)
    for name, owner, until in (("anns", ANN, later), ("bobs", BOB, later), ("over", ANN, clock.now)):
        ledger.create_session(Session(name, owner, ORG, "r", clock.now, until, None))
    assert ledger.identity(ANN, OTHER, None) is None
    assert ledger.identity("nobody", ORG, None) is None
    assert ledger.identity(ANN, ORG, "absent") is None
    assert ledger.identity(ANN, ORG, "bobs") is None
    assert ledger.identity(ANN, ORG, "over") is None
    assert ledger.identity(ANN, ORG, "anns") is not None
    ledger.revoke_session("anns")
    assert ledger.identity(ANN, ORG, "anns") is None


def test_project_access_is_stored_changed_and_outlives_its_project(ledger: Ledger) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.set_project_access(ProjectAccess("p1", "org", ANN))
        tx.set_project_access(ProjectAccess("p2", "private", BOB))
    with ledger.transaction(ORG, ANN) as tx:
        tx.set_project_access(ProjectAccess("p1", "private", ANN))
    found = sorted(ledger.project_access(ORG), key=lambda access: access.project_id)
    assert found == [ProjectAccess("p1", "private", ANN), ProjectAccess("p2", "private", BOB)]
    assert ledger.project_access(OTHER) == []
    assert ledger.head(ORG).sequence == 0
