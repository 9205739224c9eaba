"""Retrieval measures of one ranking against graded judgements, by `ir_measures`."""

from collections.abc import Mapping, Sequence

from evals.results import SEPARATION
from stores.errors import EngrainError

DEPTHS = (5, 10)
MEASURES: tuple[str, ...] = (
    "recall@5", "recall@10", "any-hit@5", "any-hit@10", "all-hit@5", "all-hit@10", "nDCG@10", "MRR@10",
)  # fmt: skip
"""What is measured of every question: fractional recall (the share of the evidence that is among the first k), whether
any and whether all of it is there, nDCG with the grade as gain and log2(rank + 1) as discount, and one over the rank of
the first evidence."""

DOUBTFUL = 0.3
"""Below which the best hit of a question that nothing is about stays, as the product says of its scores."""


def require_library() -> None:
    """Refuse to begin what could not be measured in the end.

    Raises:
        EngrainError: `ir_measures` is not installed.
    """
    try:
        import ir_measures  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise EngrainError(
            "Retrieval is measured with ir-measures, which is not installed: pip install 'engrain[eval]'."
        ) from None


def measured(
    found: Mapping[str, Sequence[str]], wanted: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, float]]:
    """Measure rankings, best first, by case; a case that found nothing is 0 in everything."""
    from ir_measures import RR, R, Success, iter_calc, nDCG  # noqa: PLC0415 - as above

    measures = {f"recall@{k}": R @ k for k in DEPTHS} | {f"any-hit@{k}": Success @ k for k in DEPTHS}
    measures |= {"nDCG@10": nDCG @ 10, "MRR@10": RR @ 10}
    names = {measure: name for name, measure in measures.items()}
    values = {case: dict.fromkeys(MEASURES, 0.0) for case in wanted}
    rankings = {case: _scored(found.get(case, ())) for case in wanted if found.get(case)}
    judged = {case: dict(wanted[case]) for case in rankings}
    if rankings:
        for each in iter_calc(list(names), judged, rankings):
            values[each.query_id][names[each.measure]] = float(each.value)
    for value in values.values():
        # Not among the library's measures: all of the evidence is there when its share is 1.
        value |= {f"all-hit@{k}": float(value[f"recall@{k}"] == 1.0) for k in DEPTHS}
    return values


def told_apart(score: float, answered: Sequence[float]) -> dict[str, float]:
    """Measure the best score for a question that nothing answers against those for questions that something does.

    `AUROC` is the share of these that score higher, equal ones counting half: its mean over the questions without an
    answer is the area under the ROC curve (Hanley and McNeil, Radiology 1982); it needs one that has an answer.
    `below@0.3` is 1 where the score is below `DOUBTFUL`.
    """
    values = {f"below@{DOUBTFUL:g}": float(score < DOUBTFUL)}
    if answered:
        above = sum(other > score for other in answered) + sum(other == score for other in answered) / 2
        values[SEPARATION] = above / len(answered)
    return values


def _scored(ranking: Sequence[str]) -> dict[str, float]:
    """Scores that keep the order; the library sorts by them."""
    return {record_id: float(len(ranking) - place) for place, record_id in enumerate(dict.fromkeys(ranking))}
