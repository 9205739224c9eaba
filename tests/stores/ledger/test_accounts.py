from dataclasses import replace
from datetime import timedelta

import pytest

from stores.errors import Conflict, InvalidRequest
from stores.ledger import Ledger
from stores.records import ExternalIdentity
from tests.stores.ledger.samples import ANN, BOB, DAYS_30, SteppingClock, at_once, organization, person, winners

HOUR = timedelta(hours=1)


def test_of_many_first_users_at_once_one_becomes_admin(url: str) -> None:
    empty = Ledger.open(url)
    created = at_once(lambda n: empty.people.create_account(person(f"u{n}"), organization(f"o{n}")), 8)
    assert sum(user.is_admin for user in created) == 1
    empty.close()


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


@pytest.fixture
def link(clock: SteppingClock) -> ExternalIdentity:
    return ExternalIdentity("oidc:acme", "https://acme.example#sub-1", BOB, f"{BOB}@Example.org", clock.now)


def test_an_address_is_reclaimed_only_while_the_account_has_it(ledger: Ledger, link: ExternalIdentity) -> None:
    with pytest.raises(Conflict, match="another e-mail address"):
        ledger.people.link_user(replace(link, email="somebody@example.org"), vouched=True)
    assert ledger.people.user_by_link(link.provider, link.subject) is None


def test_preferences_that_are_changed_at_once_are_all_kept(ledger: Ledger, second: Ledger) -> None:
    at_once(lambda n: (ledger, second)[n % 2].people.edit_preferences(BOB, {str(n): n}), 12)
    assert ledger.people.preferences(BOB) == {str(number): number for number in range(12)}


def test_of_many_links_of_one_account_one_succeeds(ledger: Ledger, second: Ledger, link: ExternalIdentity) -> None:
    def try_to(number: int) -> None:
        (ledger, second)[number % 2].people.link_user(replace(link, user_id=(ANN, BOB)[number % 2]))

    assert winners(try_to, Conflict) == 1


def test_of_many_who_use_one_token_one_succeeds(ledger: Ledger, second: Ledger, clock: SteppingClock) -> None:
    ledger.people.create_password_reset(ANN, "token", clock.now + timedelta(days=36_500))

    def reset(number: int) -> None:
        (ledger, second)[number % 2].people.reset_password("token", f"hash-{number}")

    assert winners(reset, InvalidRequest) == 1


def test_of_many_requests_at_once_one_mail_goes_out(ledger: Ledger, clock: SteppingClock) -> None:
    until = clock.now + HOUR
    assert sum(at_once(lambda n: ledger.people.create_password_reset(ANN, f"token-{n}", until))) == 1
