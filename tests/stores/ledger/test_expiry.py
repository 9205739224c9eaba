from datetime import timedelta

from stores.ledger import AuthorizationCode, DeviceLogin, Grant, Ledger, OAuthClient, TokenPair
from stores.ledger.sessions import REMEMBERED, UNUSED
from stores.records import Invitation
from tests.stores.ledger.samples import ANN, ORG, SteppingClock

HOUR = timedelta(hours=1)


def test_short_lived_secrets_go_when_they_expire(ledger: Ledger, clock: SteppingClock) -> None:
    until = clock.now + HOUR
    ledger.tickets.keep("oauth_state", "hash", {}, until)
    ledger.device_logins.start(DeviceLogin("device", "code", {}, 5, expires_at=until))
    ledger.people.create_password_reset(ANN, "token", until)
    assert ledger.people.prune_expired() == 0
    assert ledger.people.password_reset_user("token") is not None
    clock.now = until
    assert ledger.people.prune_expired() == 3
    ledger.tickets.keep("oauth_state", "hash", {}, until + HOUR)
    ledger.device_logins.start(DeviceLogin("device", "code", {}, 5, expires_at=until + HOUR))


def test_a_replay_is_recognised_for_a_month_and_then_everything_goes(ledger: Ledger, clock: SteppingClock) -> None:
    begun = clock.now
    until = begun + HOUR
    ledger.invitations.create(Invitation("i1", ORG, "c@x.org", "member", ANN, begun, until), "token")
    ledger.grants.add_client(OAuthClient("client", None, {}, begun, begun))
    ledger.grants.add_code("code", AuthorizationCode("client", ANN, ORG, "http://x", True, "c", None, (), until))
    made = ledger.grants.redeem_code("code", "g1", TokenPair("a1", until, "r1", until, ()))
    assert isinstance(made, Grant)

    clock.now = until
    assert ledger.people.prune_expired() == 1, "the access token"
    assert ledger.grants.redeem_code("code", "g2", TokenPair("a2", until, "r2", until, ())) == "reused"
    clock.now = until + REMEMBERED
    assert ledger.people.prune_expired() == 4, "the invitation, the refresh token, the code and the grant"
    assert ledger.grants.client("client") is not None
    clock.now = until + UNUSED
    assert ledger.people.prune_expired() == 1
    assert ledger.grants.client("client") is None


def test_a_client_that_somebody_lets_in_stays(ledger: Ledger, clock: SteppingClock) -> None:
    begun = clock.now
    far = begun + 3 * UNUSED
    ledger.grants.add_client(OAuthClient("client", None, {}, begun, begun))
    ledger.grants.add_code("code", AuthorizationCode("client", ANN, ORG, "http://x", True, "c", None, (), far))
    ledger.grants.redeem_code("code", "g1", TokenPair("a1", far, "r1", far, ()))
    clock.now = begun + 2 * UNUSED
    assert ledger.people.prune_expired() == 0
    assert ledger.grants.granted("a1") is not None
