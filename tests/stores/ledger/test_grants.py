from datetime import timedelta

import pytest

from stores.ledger import AuditDraft, AuditQuery, AuthorizationCode, Grant, Ledger, OAuthClient, TokenPair
from stores.records import JsonObject
from tests.stores.ledger.samples import ANN, ORG, SteppingClock, at_once, deed

HOUR = timedelta(hours=1)
AGES = timedelta(days=36_500)


@pytest.fixture
def client(ledger: Ledger, clock: SteppingClock) -> OAuthClient:
    made = OAuthClient("client", None, {"redirect_uris": ["http://127.0.0.1/cb"]}, clock.now, clock.now)
    ledger.grants.add_client(made)
    return made


@pytest.fixture
def code(ledger: Ledger, client: OAuthClient, clock: SteppingClock) -> AuthorizationCode:
    made = AuthorizationCode(
        "client", ANN, ORG, "http://127.0.0.1/cb", True, "challenge", "https://x/mcp", ("mcp",), clock.now + HOUR
    )
    ledger.grants.add_code("code", made, deed("oauth.allow"))
    return made


@pytest.fixture
def grant(ledger: Ledger, code: AuthorizationCode, clock: SteppingClock) -> Grant:
    made = ledger.grants.redeem_code("code", "g1", pair(clock, 1))
    assert isinstance(made, Grant)
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


def test_what_ends_a_grant_without_a_person_is_audited(ledger: Ledger, grant: Grant, clock: SteppingClock) -> None:
    request: JsonObject = {"request_id": "req_1"}
    assert not ledger.grants.revoke_token("refresh-1", "thief", request=request)
    ledger.grants.rotate("refresh-1", "client", pair(clock, 2), request=request)
    assert ledger.grants.rotate("refresh-1", "client", pair(clock, 3), request=request) == "reused"
    assert ledger.grants.rotate("refresh-1", "client", pair(clock, 3), request=request) == "ended"
    assert not ledger.grants.revoke_token("refresh-2", "client", request=request)
    entry, *others = ledger.audit.entries(AuditQuery(ORG))
    assert entry.draft == AuditDraft(
        "oauth.reuse", ORG, None, "client", {"grant_id": "g1", "user_id": ANN}, {"request_id": "req_1"}
    )
    assert [each.draft.action for each in others] == ["oauth.allow"]
