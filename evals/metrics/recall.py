"""Recall: how much of what should be found is found."""

from collections.abc import Mapping, Sequence


def recall(ranking: Sequence[str], grades: Mapping[str, int], *, k: int) -> float:
    """Return the share of the relevant records that is among the first `k`; 0 where nothing is relevant."""
    relevant = {record_id for record_id, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0
