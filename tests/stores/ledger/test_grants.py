from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from stores.errors import Conflict, NotFound
from stores.ledger import AuditDraft, AuditQuery, AuthorizationCode, Grant, Ledger, OAuthClient, TokenPair
from stores.records import JsonObject
from tests.stores.ledger.samples import ANN, BOB, ORG, SteppingClock, actions, at_once, deed, organization

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


def test_a_code_is_spent_for_a_grant(
    ledger: Ledger, code: AuthorizationCode, client: OAuthClient, clock: SteppingClock
) -> None:
    assert ledger.grants.code("code") == code
    tokens = pair(clock, 1)
    grant = ledger.grants.redeem_code("code", "g1", tokens)
    now = clock.now
    assert grant == Grant("g1", "client", ANN, ORG, "https://x/mcp", ("mcp",), now, now, tokens.refresh_expires_at)
    assert ledger.grants.code("code") is None
    assert ledger.grants.of_user(ANN) == [grant]
    assert ledger.grants.refreshable("refresh-1") == grant
    assert ledger.grants.client("client") == replace(client, last_used_at=now)
    assert actions(ledger) == ["oauth.allow"]


def test_a_code_belongs_to_a_client_a_user_and_an_organization(ledger: Ledger, code: AuthorizationCode) -> None:
    for changes in ({"client_id": "unknown"}, {"user_id": "nobody"}, {"organization_id": "nowhere"}):
        with pytest.raises(NotFound):
            ledger.grants.add_code("code-2", replace(code, **changes))  # type: ignore[arg-type]
    with pytest.raises(Conflict):
        ledger.grants.add_code("code", code)


def test_a_rotation_leaves_the_new_pair_only(ledger: Ledger, grant: Grant, clock: SteppingClock) -> None:
    tokens = replace(pair(clock, 2), scopes=())
    rotated = ledger.grants.rotate("refresh-1", "client", tokens)
    assert rotated == replace(grant, last_used_at=clock.now, expires_at=tokens.refresh_expires_at)
    assert ledger.grants.identity("access-1") is None
    found = ledger.grants.identity("access-2")
    assert found.scopes == ()
    assert isinstance(ledger.grants.rotate("refresh-2", "client", pair(clock, 3)), Grant)


@pytest.mark.parametrize(
    "end",
    [lambda ledger: ledger.grants.revoke(ANN, "g1", deed("oauth.revoke")),
     lambda ledger: ledger.grants.revoke_token("access-1", "client"),
     lambda ledger: ledger.grants.revoke_token("refresh-1", "client"),
     lambda ledger: ledger.people.set_password_hash(ANN, "new")],
    ids=["its user", "the access token", "the refresh token", "a new password"],
)  # fmt: skip
def test_a_grant_is_ended_with_its_tokens(
    ledger: Ledger, grant: Grant, clock: SteppingClock, end: Callable[[Ledger], object]
) -> None:
    end(ledger)
    assert ledger.grants.identity("access-1") is None
    assert ledger.grants.rotate("refresh-1", "client", pair(clock, 2)) == "ended"


def test_a_grant_is_ended_by_its_user_only_and_holds_while_the_user_is_a_member(
    ledger: Ledger, code: AuthorizationCode, clock: SteppingClock
) -> None:
    ledger.people.create_organization(organization("shared", is_personal=False), BOB)
    ledger.people.add_membership(ANN, "shared", "member")
    ledger.grants.add_code("shared", replace(code, organization_id="shared"))
    assert isinstance(ledger.grants.redeem_code("shared", "g1", pair(clock, 1)), Grant)
    with pytest.raises(NotFound):
        ledger.grants.revoke(BOB, "g1")
    assert ledger.grants.identity("access-1") is not None
    ledger.people.remove_member("shared", ANN)
    assert ledger.grants.identity("access-1") is None
    ledger.people.add_membership(ANN, "shared", "member")
    assert ledger.grants.identity("access-1") is None


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
