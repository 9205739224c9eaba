from dataclasses import replace
from datetime import timedelta

import pytest

from stores.errors import NotFound
from stores.ledger import Ledger
from stores.records import Session
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, actions, deed


@pytest.fixture
def session(ledger: Ledger, clock: SteppingClock) -> Session:
    started = Session("s1", ANN, ORG, "refresh-1", clock.now, clock.now + timedelta(days=30), None)
    ledger.people.create_session(started)
    return started


def test_a_rotation_makes_the_new_token_the_only_valid_one(
    ledger: Ledger, session: Session, clock: SteppingClock
) -> None:
    rotated = ledger.people.rotate_session("s1", "refresh-1", "refresh-2", clock.now)
    assert rotated == replace(session, refresh_id="refresh-2", last_used_at=clock.now) == ledger.people.session("s1")
    assert ledger.people.rotate_session("s1", "refresh-1", "refresh-3", clock.now) == "reused"
    assert ledger.people.rotate_session("s1", "refresh-2", "refresh-3", clock.now) == "ended"


def test_a_session_that_is_over_is_not_rotated(ledger: Ledger, session: Session) -> None:
    assert ledger.people.rotate_session("s1", "refresh-1", "refresh-2", session.expires_at) == "ended"
    assert ledger.people.rotate_session("absent", "refresh-1", "refresh-2", session.created_at) == "ended"
    assert ledger.people.revoke_session("s1")
    assert not ledger.people.revoke_session("s1")
    assert ledger.people.rotate_session("s1", "refresh-1", "refresh-2", session.created_at) == "ended"


def test_a_user_sees_the_sessions_that_hold_the_newest_first(
    ledger: Ledger, session: Session, clock: SteppingClock
) -> None:
    newer = replace(session, id="s2", created_at=session.created_at + timedelta(days=1))
    over = replace(session, id="over", expires_at=clock.now)
    for each in (newer, over, replace(session, id="bobs", user_id=BOB), replace(session, id="revoked")):
        ledger.people.create_session(each)
    ledger.people.revoke_session("revoked")
    assert ledger.people.sessions(ANN) == [newer, session]


def test_a_switched_session_holds_in_the_other_organization_with_new_tokens_only(
    ledger: Ledger, session: Session, clock: SteppingClock
) -> None:
    with pytest.raises(NotFound):
        ledger.people.switch_session("s1", OTHER, "refresh-2")
    ledger.people.add_membership(ANN, OTHER, "viewer")
    switched = ledger.people.switch_session("s1", OTHER, "refresh-2", deed("session.switch", OTHER))
    assert switched == replace(session, organization_id=OTHER, refresh_id="refresh-2", last_used_at=clock.now)
    assert ledger.people.identity(ANN, ORG, "s1") is None
    assert ledger.people.identity(ANN, OTHER, "s1") is not None
    assert actions(ledger, OTHER) == ["session.switch"]
    again = ledger.people.switch_session("s1", OTHER, "refresh-3", seen=("::1", "curl"))
    assert (again.ip_address, again.user_agent) == ("::1", "curl")
    assert ledger.people.rotate_session("s1", "refresh-1", "stolen", clock.now) == "reused"
    assert ledger.people.switch_session("s1", ORG, "refresh-4") is None
