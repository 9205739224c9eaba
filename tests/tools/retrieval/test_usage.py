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
from tools.retrieval.scoring import USAGE_BONUS, lifted, usage_share
from tools.retrieval.usage import Usage, worth

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


def weights(usage: Usage, visible: frozenset[str] = OPEN, organization_id: str = ORG) -> dict[str, float]:
    ids = ["nothing", "a", "b", "p"]
    return {ids[place]: weight for place, weight in usage.weights(organization_id, ids, visible).items()}


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
    usage = Usage(ledger, lambda: NOW)
    assert weights(usage) == pytest.approx({"a": 0.875 + 0.5, "b": 0.5})
    assert weights(usage, organization_id=OTHER) == {}


def test_a_renewed_record_is_in_step_and_counts_once(ledger: Ledger) -> None:
    usage = Usage(ledger, lambda: NOW)
    usage.renew(ORG, ["a"])
    assert weights(usage) == {}
    cite(ledger, "a")
    assert weights(usage) == {}
    for _ in range(3):
        usage.renew(ORG, ["a"])
    assert weights(usage) == pytest.approx({"a": 0.5})


def test_weights_halve_in_ninety_days_whenever_they_were_read(ledger: Ledger) -> None:
    cite(ledger, "a")
    moment = [NOW]
    early = Usage(ledger, lambda: moment[0])
    assert weights(early) == pytest.approx({"a": 0.5})
    moment[0] = NOW + timedelta(days=180)
    late = Usage(ledger, lambda: moment[0])
    assert weights(early) == pytest.approx({"a": 0.125}) == weights(late)


def test_what_another_process_wrote_is_read_after_some_minutes(ledger: Ledger) -> None:
    usage, old = Usage(ledger, lambda: NOW, refresh_s=0), Usage(ledger, lambda: NOW)
    assert weights(usage) == weights(old) == {}
    cite(ledger, "a")
    assert (weights(usage), weights(old)) == (pytest.approx({"a": 0.5}), {})
