"""Compare the analytics with the ledger."""

from collections import Counter
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from stores.ledger import Ledger
from stores.ledger.engine import in_chunks
from stores.ledger.task_counts import TaskHistory

if TYPE_CHECKING:
    from stores.analytics.file import AnalyticsFile

_NO_VISIBILITY: frozenset[str] = frozenset()


def compare(held: Iterable[TaskHistory], expected: Iterable[TaskHistory]) -> list[str]:
    found = list(held)
    times = Counter(each.id for each in found)
    known = {each.id: each for each in found}
    wanted = {each.id: each for each in expected}
    sentences = []
    for each in sorted(known.keys() | wanted.keys()):
        if each not in known:
            sentences.append(f"task {each} is missing")
        elif each not in wanted:
            sentences.append(f"task {each} is not in the ledger")
        elif times[each] > 1:
            sentences.append(f"task {each} is held {times[each]} times")
        elif known[each].moves != wanted[each].moves:
            sentences.append(f"task {each} moved otherwise")
        elif known[each] != wanted[each]:
            sentences.append(f"task {each} is held with another project, visibility or date")
    return sentences


def present(ledger: Ledger, organization_id: str, record_ids: Iterable[str]) -> Set[str]:
    return {
        each
        for ids in in_chunks(record_ids)
        for each in ledger.records.statuses(organization_id, ids, visibility=_NO_VISIBILITY)
    }


def orphans(file: "AnalyticsFile", ledger: Ledger, organization_id: str) -> Set[str]:
    """Return the ids with exposures that are not in the ledger."""
    exposed = file.exposed_records(organization_id)
    return exposed - present(ledger, organization_id, exposed)
