from dataclasses import replace

import pytest

from stores.errors import Conflict, NotFound, ValidationFailed
from stores.ledger import Ledger
from stores.records import ExternalIdentity
from tests.stores.ledger.samples import (
    ANN,
    BOB,
    DAYS_30,
    ORG,
    OTHER,
    SteppingClock,
    actions,
    at_once,
    deed,
    organization,
    person,
    winners,
)


def test_the_first_user_of_a_ledger_is_its_admin(ledger: Ledger) -> None:
    ann, bob = ledger.people.user(ANN), ledger.people.user(BOB)
    assert ann == replace(person(ANN), is_admin=True)
    assert bob == person(BOB)
    assert ledger.people.user_count() == 2


def test_of_many_first_users_at_once_one_becomes_admin(url: str) -> None:
    empty = Ledger.open(url)
    created = at_once(lambda n: empty.people.create_account(person(f"u{n}"), organization(f"o{n}")), 8)
    assert sum(user.is_admin for user in created) == 1
    empty.close()


@pytest.mark.parametrize("email", ["user-ann@example.org", "USER-Ann@EXAMPLE.org"])
def test_an_email_is_in_use_in_whatever_case(ledger: Ledger, email: str) -> None:
    with pytest.raises(Conflict, match="Email is already in use"):
        ledger.people.create_account(person("u3", email=email), organization("o3"))
    found = ledger.people.user_by_email(email)
    assert found.id == ANN
    assert ledger.people.user("u3") is None
    assert ledger.people.user_by_email("nobody@example.org") is None


def test_a_taken_slug_or_id_is_a_conflict_that_leaves_nothing_behind(ledger: Ledger) -> None:
    with pytest.raises(Conflict):
        ledger.people.create_account(person("u3"), replace(organization("o3"), slug=organization(ORG).slug))
    with pytest.raises(Conflict):
        ledger.people.create_organization(organization(ORG))
    assert ledger.people.user("u3") is None
    assert [each.id for each in ledger.people.organizations()] == [ORG, OTHER]
    assert ledger.people.organization(ORG) == organization(ORG)
    assert ledger.people.organization("o3") is None


def test_a_password_is_replaced(ledger: Ledger) -> None:
    ledger.people.set_password_hash(ANN, None)
    ann = ledger.people.user(ANN)
    assert ann.password_hash is None
    with pytest.raises(NotFound):
        ledger.people.set_password_hash("nobody", "hash")


def test_a_profile_is_edited_and_what_is_not_a_users_own_stays(ledger: Ledger) -> None:
    before = ledger.people.user(ANN)
    assert before is not None
    wanted = replace(before, name="Ann", bio="Writes.", avatar_url="https://x/a.png", codehost_id=7)
    edited = ledger.people.edit_user(
        ANN, lambda user: replace(wanted, id="other", is_admin=False, password_hash="stolen")
    )
    assert edited == wanted == ledger.people.user(ANN)
    with pytest.raises(NotFound):
        ledger.people.edit_user("nobody", lambda user: user)
    with pytest.raises(ValidationFailed):
        ledger.people.edit_user(ANN, lambda user: replace(user, bio="a\0b"))
    with pytest.raises(Conflict, match="code-host"):
        ledger.people.edit_user(BOB, lambda user: replace(user, codehost_id=7))


def test_an_address_is_changed_to_a_free_one_and_is_not_verified_then(ledger: Ledger, clock: SteppingClock) -> None:
    ledger.people.edit_user(ANN, lambda user: replace(user, email_verified_at=clock.now))
    ledger.people.create_password_reset(ANN, "mailed", clock.now + DAYS_30)
    with pytest.raises(Conflict, match="Email is already in use"):
        ledger.people.edit_user(ANN, lambda user: replace(user, email="USER-BOB@example.org"))
    assert ledger.people.password_reset_user("mailed") is not None

    edited = ledger.people.edit_user(ANN, lambda user: replace(user, email="Ann@New.org"))

    assert (edited.email, edited.email_verified_at) == ("Ann@New.org", None)
    assert ledger.people.password_reset_user("mailed") is None
    assert ledger.people.user_by_email("ann@new.org") == edited
    assert ledger.people.user_by_email("user-ann@example.org") is None
    proved_at = clock()
    verified = ledger.people.edit_user(
        ANN, lambda user: replace(user, email="ann@third.org", email_verified_at=proved_at)
    )
    assert verified.email_verified_at == proved_at


def test_of_many_who_take_one_address_one_succeeds(ledger: Ledger, second: Ledger) -> None:
    for number in range(6):
        ledger.people.create_account(person(f"u{number}"), organization(f"o{number}"))

    def take(number: int) -> None:
        (ledger, second)[number % 2].people.edit_user(f"u{number}", lambda user: replace(user, email="same@x.org"))

    assert winners(take, Conflict) == 1


def test_preferences_are_merged_and_keep_null(ledger: Ledger, second: Ledger) -> None:
    assert ledger.people.preferences(ANN) == ledger.people.preferences("nobody") == {}
    ledger.people.edit_preferences(ANN, {"theme": "dark", "tour": {"seen": 1}})
    assert ledger.people.edit_preferences(ANN, {"theme": None}) == {"theme": None, "tour": {"seen": 1}}
    assert ledger.people.preferences(BOB) == {}
    with pytest.raises(NotFound):
        ledger.people.edit_preferences("nobody", {})
    at_once(lambda n: (ledger, second)[n % 2].people.edit_preferences(BOB, {str(n): n}), 12)
    assert ledger.people.preferences(BOB) == {str(number): number for number in range(12)}


def test_an_account_may_begin_with_a_link(ledger: Ledger, clock: SteppingClock) -> None:
    link = ExternalIdentity("oidc:acme", "sub-1", "u3", "u3@example.org", clock.now)
    created = ledger.people.create_account(person("u3"), organization("o3"), link, deed("user.create", None))
    assert ledger.people.user_by_link("oidc:acme", "sub-1") == created
    with pytest.raises(Conflict, match="linked"):
        ledger.people.create_account(
            person("u4"), organization("o4"), replace(link, user_id="u4"), deed("user.create", None)
        )
    assert ledger.people.user("u4") is None
    assert actions(ledger, None) == ["user.create"]
