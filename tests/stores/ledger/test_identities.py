from datetime import timedelta

from stores.ledger import Ledger
from stores.ledger.identities import greater_role
from stores.records import PROJECT_ROLES, Session
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock


def test_the_greater_project_role_counts() -> None:
    for place, role in enumerate(PROJECT_ROLES):
        assert greater_role(None, role) == role
        for lesser in PROJECT_ROLES[:place]:
            assert greater_role(lesser, role) == greater_role(role, lesser) == role


def test_there_is_no_identity_without_membership_or_with_a_session_that_does_not_hold_there(
    ledger: Ledger, clock: SteppingClock
) -> None:
    later = clock.now + timedelta(days=30)
    for name, owner, until in (("anns", ANN, later), ("bobs", BOB, later), ("over", ANN, clock.now)):
        ledger.people.create_session(Session(name, owner, ORG, "r", clock.now, until, None))
    assert ledger.people.identity(ANN, OTHER, None) is None
    assert ledger.people.identity("nobody", ORG, None) is None
    assert ledger.people.identity(ANN, ORG, "absent") is None
    assert ledger.people.identity(ANN, ORG, "bobs") is None
    assert ledger.people.identity(ANN, ORG, "over") is None
    assert ledger.people.identity(ANN, ORG, "anns") is not None
    ledger.people.add_membership(ANN, OTHER, "member")
    assert ledger.people.identity(ANN, OTHER, "anns") is None
    assert ledger.people.identity(ANN, OTHER, None) is not None
    ledger.people.revoke_session("anns")
    assert ledger.people.identity(ANN, ORG, "anns") is None
