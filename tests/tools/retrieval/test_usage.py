"""The usage signal: bounded whatever is cited, in step with the ledger, and known for those who may know it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.ledger import Citing, Ledger
from stores.records import ORGANIZATION
from tests.ledgers import new_ledger
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, create, draft, organization, person
from tools.retrieval.checks import weights, worth
from tools.retrieval.scoring import USAGE_BONUS, lifted, usage_share

OPEN = frozenset({ORGANIZATION})
NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger.open(new_ledger(tmp_path), clock=lambda: NOW)
    opened.people.create_account(person(ANN), organization(ORG))
    opened.people.create_account(person(BOB), organization(OTHER))
    create(opened, draft("a"), draft("b"), draft("p", visibility="private:ann"))
    create(opened, draft("a"), organization_id=OTHER)
    yield opened
    opened.close()


def cite(ledger: Ledger, record_id: str, session: str = "s", by: str = ANN, organization_id: str = ORG) -> None:
    with ledger.transaction(organization_id, by) as tx:
        assert tx.memories.cite([record_id], Citing(OPEN | {"private:ann"}, session, "search")).counted


def weighed(
    ledger: Ledger, visible: frozenset[str] = OPEN, organization_id: str = ORG, now: datetime = NOW
) -> dict[str, float]:
    return dict(weights(ledger, now, organization_id, ["nothing", "a", "b", "p"], visible))


@given(sessions=st.integers(1, 10**9))
def test_one_user_is_worth_at_most_one(sessions: int) -> None:
    assert 0.5 <= worth(sessions) <= 1.0
    assert worth(sessions) <= worth(sessions + 1)


@given(weight=st.floats(0, 1e12), score=st.floats(0, 1))
def test_no_number_of_citations_lifts_a_score_by_more_than_the_bonus(weight: float, score: float) -> None:
    share = float(usage_share(np.array([weight]))[0])
    assert 0 <= share <= USAGE_BONUS
    assert 0 <= lifted(score, share) - score <= USAGE_BONUS / 4 + 1e-12


def test_users_add_up_and_sessions_saturate(ledger: Ledger) -> None:
    for session in "xyz":
        cite(ledger, "a", session)
    cite(ledger, "a", by=BOB)
    cite(ledger, "b")
    assert weighed(ledger) == pytest.approx({"a": 0.875 + 0.5, "b": 0.5})
    assert weighed(ledger, organization_id=OTHER) == {}


def test_weights_halve_in_ninety_days(ledger: Ledger) -> None:
    cite(ledger, "a")
    assert weighed(ledger, now=NOW + timedelta(days=180)) == pytest.approx({"a": 0.125})


def test_a_citation_counts_for_those_who_might_read_the_record_then(ledger: Ledger) -> None:
    cite(ledger, "p")
    assert weighed(ledger) == {}
    assert weighed(ledger, OPEN | {"private:ann"}) == pytest.approx({"p": 0.5})
