from datetime import timedelta

from stores.errors import InvalidRequest
from stores.ledger import Ledger
from tests.stores.ledger.samples import ANN, BOB, SteppingClock, at_once, winners

HOUR = timedelta(hours=1)


def test_a_user_gets_one_mail_in_two_minutes_and_older_mails_stay_valid_until_one_is_used(
    ledger: Ledger, clock: SteppingClock
) -> None:
    assert ledger.people.create_password_reset(ANN, "first", clock.now + HOUR)
    assert not ledger.people.create_password_reset(ANN, "too-soon", clock.now + HOUR)
    assert ledger.people.create_password_reset(BOB, "bobs", clock.now + HOUR)
    assert not ledger.people.create_password_reset("nobody", "nobodys", clock.now + HOUR)
    clock.now += timedelta(minutes=2)
    assert ledger.people.create_password_reset(ANN, "second", clock.now + HOUR)
    assert ledger.people.password_reset_user("too-soon") is None
    ledger.people.reset_password("first", "new")
    assert ledger.people.password_reset_user("second") is None
    assert ledger.people.password_reset_user("bobs") is not None


def test_of_many_who_use_one_token_one_succeeds(ledger: Ledger, second: Ledger, clock: SteppingClock) -> None:
    ledger.people.create_password_reset(ANN, "token", clock.now + timedelta(days=36_500))

    def reset(number: int) -> None:
        (ledger, second)[number % 2].people.reset_password("token", f"hash-{number}")

    assert winners(reset, InvalidRequest) == 1


def test_of_many_requests_at_once_one_mail_goes_out(ledger: Ledger, clock: SteppingClock) -> None:
    until = clock.now + HOUR
    assert sum(at_once(lambda n: ledger.people.create_password_reset(ANN, f"token-{n}", until))) == 1
