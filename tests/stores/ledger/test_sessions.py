from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from stores.ledger import Ledger
from stores.records import Session
from tests.stores.ledger.samples import ANN, BOB, ORG, SteppingClock


@pytest.fixture
def session(ledger: Ledger, clock: SteppingClock) -> Session:
    started = Session("s1", ANN, ORG, "refresh-1", clock.now, clock.now + timedelta(days=30), None)
    ledger.create_session(started)
    return started


def test_a_rotation_makes_the_new_token_the_only_valid_one(
    ledger: Ledger, session: Session, clock: SteppingClock
) -> None:
    rotated = ledger.rotate_session("s1", "refresh-1", "refresh-2", clock.now)
    assert rotated == replace(session, refresh_id="refresh-2", last_used_at=clock.now) == ledger.session("s1")


def test_a_used_token_revokes_the_whole_session(ledger: Ledger, session: Session, clock: SteppingClock) -> None:
    ledger.rotate_session("s1", "refresh-1", "refresh-2", clock.now)
    assert ledger.rotate_session("s1", "refresh-1", "stolen", clock.now) == "reused"
    assert ledger.rotate_session("s1", "refresh-2", "refresh-3", clock.now) == "ended"
    assert ledger.identity(ANN, ORG, "s1") is None


def test_a_session_that_is_over_is_not_rotated(ledger: Ledger, session: Session) -> None:
    assert ledger.rotate_session("s1", "refresh-1", "refresh-2", session.expires_at) == "ended"
    assert ledger.rotate_session("absent", "refresh-1", "refresh-2", session.created_at) == "ended"
    assert ledger.revoke_session("s1")
    assert not ledger.revoke_session("s1")
    assert ledger.rotate_session("s1", "refresh-1", "refresh-2", session.created_at) == "ended"


def test_of_many_rotations_with_one_token_one_succeeds(ledger: Ledger, session: Session, clock: SteppingClock) -> None:
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda n: ledger.rotate_session("s1", "refresh-1", f"next-{n}", clock.now), range(8)))
    assert sum(isinstance(outcome, Session) for outcome in outcomes) == 1
    assert outcomes.count("reused") == 1


def test_all_sessions_of_a_user_end_but_the_one_to_keep(ledger: Ledger, session: Session) -> None:
    ledger.create_session(replace(session, id="s2"))
    ledger.create_session(replace(session, id="bobs", user_id=BOB))
    assert ledger.revoke_sessions(ANN, keep="s2") == 1
    assert ledger.identity(ANN, ORG, "s1") is None
    assert ledger.identity(ANN, ORG, "s2") is not None
    assert ledger.revoke_sessions(ANN) == 1
    bobs = ledger.session("bobs")
    assert bobs is not None
    assert bobs.revoked_at is None


def test_old_sessions_are_pruned(ledger: Ledger, session: Session) -> None:
    assert ledger.prune_sessions(session.expires_at) == 0
    assert ledger.prune_sessions(session.expires_at + timedelta(seconds=1)) == 1
    assert ledger.session("s1") is None
