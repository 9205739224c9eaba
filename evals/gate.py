"""Gate: compare a run with a baseline and with the floors of its sets."""

from collections.abc import Sequence
from dataclasses import dataclass

from evals.comparison import Comparison, compare
from evals.report import MISSED, shown, summaries
from evals.runs import Run
from stores.errors import EngrainError

FEWEST = 2
"""Fewest questions for a test."""


@dataclass(frozen=True, slots=True)
class Verdict:
    comparison: Comparison
    failures: Sequence[str]
    unjudged: Sequence[str]
    """Sets and arms with too few questions."""

    @property
    def is_open(self) -> bool:
        """True if everything was judged and nothing is significantly worse."""
        return not self.failures and not self.unjudged


def judge(baseline: Run, run: Run) -> Verdict:
    """Compare the decisive measure of every set and arm of a baseline with a run.

    Fails if the 95 % interval of the paired difference lies below zero, or if cases are missing.

    Other measures do not decide: more tests mean more false alarms.

    Raises:
        EngrainError: They share no case or are the same run.
    """
    if baseline.record is not None and baseline.name == run.name:
        raise EngrainError(f"The baseline is the run {run.name} itself: name an earlier one, such as `latest~1`.")
    comparison = compare(baseline, run)
    headlines = [line for line in comparison.lines if line.is_headline]
    failures = [
        f"{line.set}, {line.arms[1]}: {line.measure} fell from {line.before:.3f} to {line.after:.3f}"
        f" ({shown(line.difference.interval, signed=True)}, n = {line.n})."
        for line in headlines
        if line.difference.is_lower
    ]
    measured = {case.key for case in run.cases}
    if missing := [" ".join(case.key) for case in baseline.cases if case.key not in measured]:
        failures.append(f"{len(missing)} cases of the baseline were not measured: {', '.join(missing[:3])} …")
    counted = {(line.set, line.arms[1]): line.n for line in headlines}
    wanted = dict.fromkeys((case.set, case.arm) for case in baseline.cases if not case.apart)
    unjudged = [
        f"{name}, {arm}: both have {counted.get((name, arm), 0)} questions of the headline; it takes {FEWEST}."
        for name, arm in wanted
        if counted.get((name, arm), 0) < FEWEST
    ]
    return Verdict(comparison, failures, unjudged if wanted else ["No question of the baseline is in a headline."])


def missed(run: Run) -> list[str]:
    """Name each missed or unmeasured floor and each exceeded limit.

    Raises:
        EngrainError: The run has neither, as samples.
    """
    found = summaries(run)
    if all(each.part.floor is None and each.part.p50_limit_ms is None for each in found):
        raise EngrainError("This run has no floor and no time limit: ask whole sets, one question at a time.")
    failures = []
    for each in found:
        part, name = each.part, f"{each.part.set}, {each.part.arm}"
        if part.floor is not None and each.headline is None:
            failures.append(f"{name}: all questions are apart, so that none is held against the floor.")
        elif each.headline is not None and each.verdict == MISSED:
            interval = each.headline.interval
            failures.append(
                f"{name}: {part.measure} is {interval.mean:.4f}, below the floor of {part.floor:g} (n = {interval.n})."
            )
        if each.latency is not None and each.speed_verdict == MISSED:
            taken = each.latency
            failures.append(f"{name}: p50 is {taken.p50:.2f} ms, above {part.p50_limit_ms:g} ms (n = {taken.n}).")
    return failures
