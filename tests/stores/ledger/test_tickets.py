from dataclasses import replace
from datetime import timedelta

import pytest

from stores.errors import Conflict
from stores.ledger import AuditDraft, DeviceLogin, Ledger
from stores.records import Session
from tests.stores.ledger.samples import ANN, ORG, SteppingClock, at_once, deed, organization

MINUTE = timedelta(minutes=1)


@pytest.fixture
def device(ledger: Ledger, clock: SteppingClock) -> DeviceLogin:
    login = DeviceLogin("device", "code", {"program": "engrain"}, 5, expires_at=clock.now + 10 * MINUTE)
    ledger.device_logins.start(login)
    return login


def test_a_ticket_is_read_often_and_taken_once(ledger: Ledger, clock: SteppingClock) -> None:
    data = {"next": "/home", "nonce": "n", "verifier": None}
    ledger.tickets.keep("oauth_state", "hash", {**data}, clock.now + MINUTE)
    assert ledger.tickets.read("oauth_state", "hash") == ledger.tickets.read("oauth_state", "hash") == data
    assert ledger.tickets.take("consent", "hash") is None
    assert ledger.tickets.take("oauth_state", "hash") == data
    ledger.tickets.keep("oauth_state", "expired", {}, clock.now)
    for each in ("hash", "expired"):
        assert ledger.tickets.take("oauth_state", each) is ledger.tickets.read("oauth_state", each) is None


def test_of_many_who_take_one_ticket_one_gets_it(ledger: Ledger, second: Ledger, clock: SteppingClock) -> None:
    ledger.tickets.keep("oauth_state", "hash", {}, clock.now + timedelta(days=36_500))
    taken = at_once(lambda n: (ledger, second)[n % 2].tickets.take("oauth_state", "hash"))
    assert taken.count({}) == 1


def test_of_many_polls_at_once_one_gets_the_approval(ledger: Ledger, second: Ledger, clock: SteppingClock) -> None:
    login = DeviceLogin("device", "code", {}, 5, expires_at=clock.now + timedelta(days=36_500))
    ledger.device_logins.start(login)
    ledger.device_logins.decide("code", ANN, ORG)
    answers = at_once(lambda n: (ledger, second)[n % 2].device_logins.enter("device", begun))
    assert sum(isinstance(answer, Session) for answer in answers) == 1


def begun(login: DeviceLogin) -> tuple[Session, AuditDraft]:
    assert login.user_id is not None
    assert login.organization_id is not None
    start = login.expires_at
    session = Session("s-device", login.user_id, login.organization_id, "r", start, start + MINUTE, None, "device")
    return session, deed("session.start")


def test_whoever_left_the_organization_gets_no_session_in_it(ledger: Ledger, clock: SteppingClock) -> None:
    ledger.people.create_organization(organization("elsewhere", is_personal=False))
    ledger.device_logins.start(DeviceLogin("device", "code", {}, 5, expires_at=clock.now + 10 * MINUTE))
    ledger.device_logins.decide("code", ANN, "elsewhere")
    assert ledger.device_logins.enter("device", begun) == "access_denied"
    assert ledger.people.session("s-device") is None
    assert ledger.device_logins.enter("device", begun) == "expired_token"


def test_an_approval_that_cannot_be_honoured_is_not_spent(ledger: Ledger, device: DeviceLogin) -> None:
    ledger.device_logins.decide("code", ANN, ORG)
    ledger.people.create_session(begun(replace(device, user_id=ANN, organization_id=ORG))[0])
    with pytest.raises(Conflict):
        ledger.device_logins.enter("device", begun)
    other = replace(begun(replace(device, user_id=ANN, organization_id=ORG))[0], id="s-other")
    assert ledger.device_logins.enter("device", lambda _: (other, deed("session.start"))) == other
