from dataclasses import replace
from datetime import timedelta

import pytest

from stores.ledger import Ledger
from stores.records import Session
from tests.stores.ledger.samples import ANN, BOB, ORG, SteppingClock


@pytest.fixture
def session(ledger: Ledger, clock: SteppingClock) -> Session:
    started = Session("s1", ANN, ORG, "refresh-1", clock.now, clock.now + timedelta(days=30), None)
    ledger.people.create_session(started)
    return started


def test_a_user_sees_the_sessions_that_hold_the_newest_first(
    ledger: Ledger, session: Session, clock: SteppingClock
) -> None:
    newer = replace(session, id="s2", created_at=session.created_at + timedelta(days=1))
    over = replace(session, id="over", expires_at=clock.now)
    for each in (newer, over, replace(session, id="bobs", user_id=BOB), replace(session, id="revoked")):
        ledger.people.create_session(each)
    ledger.people.revoke_session("revoked")
    assert ledger.people.sessions(ANN) == [newer, session]


def test_a_session_that_is_over_is_not_rotated(ledger: Ledger, session: Session) -> None:
    assert ledger.people.rotate_session("s1", "refresh-1", "refresh-2", session.expires_at) == "ended"
    assert ledger.people.rotate_session("absent", "refresh-1", "refresh-2", session.created_at) == "ended"
    assert ledger.people.revoke_session("s1")
    assert not ledger.people.revoke_session("s1")
    assert ledger.people.rotate_session("s1", "refresh-1", "refresh-2", session.created_at) == "ended"
