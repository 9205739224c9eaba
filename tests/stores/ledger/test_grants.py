from datetime import timedelta

import pytest

from stores.ledger import AuthorizationCode, Grant, Ledger, OAuthClient, TokenPair
from tests.stores.ledger.samples import ANN, ORG, SteppingClock, at_once

HOUR = timedelta(hours=1)
AGES = timedelta(days=36_500)


@pytest.fixture
def client(ledger: Ledger, clock: SteppingClock) -> OAuthClient:
    made = OAuthClient("client", None, {"redirect_uris": ["http://127.0.0.1/cb"]}, clock.now, clock.now)
    ledger.grants.add_client(made)
    return made


def pair(clock: SteppingClock, number: int, *, age: timedelta = HOUR) -> TokenPair:
    return TokenPair(f"access-{number}", clock.now + age, f"refresh-{number}", clock.now + 24 * age, ("mcp",))


@pytest.mark.parametrize("deed", ["redeem", "rotate"])
def test_of_many_who_use_one_code_or_token_at_once_one_succeeds(
    ledger: Ledger, second: Ledger, client: OAuthClient, clock: SteppingClock, deed: str
) -> None:
    made = AuthorizationCode("client", ANN, ORG, "http://x", False, "c", None, (), clock.now + AGES)
    ledger.grants.add_code("code", made)
    if deed == "rotate":
        ledger.grants.redeem_code("code", "g", pair(clock, 6, age=AGES))
    pairs = [pair(clock, number, age=AGES) for number in range(6)]

    def use(number: int) -> Grant | str:
        grants = (ledger, second)[number % 2].grants
        if deed == "redeem":
            return grants.redeem_code("code", f"g{number}", pairs[number])
        return grants.rotate("refresh-6", "client", pairs[number])

    outcomes = at_once(use)
    assert sum(isinstance(outcome, Grant) for outcome in outcomes) == 1
    assert outcomes.count("reused") == 1
    if deed == "redeem":
        assert ledger.grants.of_user(ANN) == [], "all lose the grant"
