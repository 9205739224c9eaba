from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from stores.errors import InvalidRequest
from stores.ledger import Ledger
from tests.stores.ledger.samples import ANN, BOB, SteppingClock, actions, deed, session

HOUR = timedelta(hours=1)


def test_a_reset_replaces_the_password_once_and_ends_everything_signed_in(ledger: Ledger, clock: SteppingClock) -> None:
    ledger.people.create_session(session("s1"))
    assert ledger.people.create_password_reset(ANN, "token", clock.now + HOUR)
    assert ledger.people.password_reset_user("token") == ledger.people.user(ANN)

    user = ledger.people.reset_password("token", "new", deed("password.reset"))

    assert user == ledger.people.user(ANN)
    assert (user.password_hash, user.email_verified_at) == ("new", clock.now)
    assert ledger.people.sessions(ANN) == []
    assert ledger.people.password_reset_user("token") is None
    assert actions(ledger) == ["password.reset"]
    with pytest.raises(InvalidRequest) as refused:
        ledger.people.reset_password("token", "again")
    assert refused.value.code == "invalid_reset_token"


def test_an_expired_or_unknown_token_resets_nothing(ledger: Ledger, clock: SteppingClock) -> None:
    ledger.people.create_password_reset(ANN, "token", clock.now + HOUR)
    clock.now += HOUR
    for token in ("token", "unknown"):
        assert ledger.people.password_reset_user(token) is None
        with pytest.raises(InvalidRequest):
            ledger.people.reset_password(token, "new")
    ann = ledger.people.user(ANN)
    assert ann is not None
    assert ann.password_hash == "hash"


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

    def reset(number: int) -> bool:
        try:
            (ledger, second)[number % 2].people.reset_password("token", f"hash-{number}")
        except InvalidRequest:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(reset, range(6))) == 1


def test_of_many_requests_at_once_one_mail_goes_out(ledger: Ledger, clock: SteppingClock) -> None:
    until = clock.now + HOUR
    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(lambda n: ledger.people.create_password_reset(ANN, f"token-{n}", until), range(6))) == 1
