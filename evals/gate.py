"""Whether a run is worse than a baseline beyond noise, or misses what is asked of its sets."""

from collections.abc import Sequence
from dataclasses import dataclass

from evals.comparison import Comparison, compare
from evals.reports.figures import MISSED, Summary, summaries
from evals.reports.tables import signed
from evals.runs import Stored
from stores.errors import EngrainError

FEWEST = 2
"""Questions that it takes to tell a difference from chance."""
_ALONE = ", over questions, as there is one cluster"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the gate is open, and why not."""

    comparison: Comparison
    failures: Sequence[str]
    unjudged: Sequence[str]
    """What there is too little of to say anything."""

    @property
    def is_open(self) -> bool:
        """Whether everything could be judged and nothing is worse beyond noise."""
        return not self.failures and not self.unjudged


def judge(baseline: Stored, run: Stored, *, most_p50_ms: float | None = None) -> Verdict:
    """Hold the judged measure of every set and arm of a baseline against a run.

    It fails where the 95 % interval of the paired difference lies below zero, where a case of the baseline was not
    measured, and with `most_p50_ms` where an arm is slower at the median. Other measures do not decide: with more
    tests, chance alone would fail more runs. A single question says nothing, so that there it is not open either.

    Raises:
        EngrainError: They have no case in common, or are one run, of which nothing could be worse.
    """
    if baseline.record is not None and baseline.record == run.record:
        raise EngrainError(
            f"The baseline is the run {run.name} itself, so that nothing could be worse: name what it is to be held"
            " against, such as `latest~1` or a file that `engrain eval baseline` wrote."
        )
    comparison = compare(baseline, run)
    failures = [
        f"{line.set}, {line.arms[1]}: {line.measure} fell from {line.before:.3f} to {line.after:.3f}"
        f" ({signed(line.difference.interval)}, n = {line.n}{_ALONE if line.difference.interval.over_values else ''})."
        for line in comparison.lines
        if line.is_headline and line.difference.is_lower
    ]
    measured = {case.key for case in run.cases}
    if missing := [case.key for case in baseline.cases if case.key not in measured]:
        shown = ", ".join(" ".join(key) for key in missing[:3])
        failures.append(f"{len(missing)} cases of the baseline were not measured: {shown} …")
    if most_p50_ms is not None:
        failures += [sentence for each in summaries(run) if (sentence := _slower(each, most_p50_ms))]
    return Verdict(comparison, failures, _unjudged(baseline, run, comparison))


def missed(run: Stored) -> list[str]:
    """Name each floor that a set and arm does not reach or was not held against, and each median above its limit.

    Raises:
        EngrainError: Nothing of the run is held against either, as of a sample.
    """
    found = summaries(run)
    if not any(each.verdict or each.speed_verdict for each in found):
        raise EngrainError(
            "Nothing of this run is held against a floor or a limit of time: ask whole sets, one question at a time."
        )
    below = [
        f"{each.part.set}, {each.part.arm}: {each.part.measure} is {each.headline.interval.mean:.4f}, below the floor"
        f" of {each.part.floor:g} (n = {each.headline.interval.n})."
        for each in found
        if each.verdict == MISSED and each.headline is not None
    ]
    unheld = [
        f"{each.part.set}, {each.part.arm}: no question tells whether the floor of {each.part.floor:g} is reached, as"
        " all are apart."
        for each in found
        if each.part.floor is not None and each.headline is None
    ]
    slow = [sentence for each in found if (sentence := _slower(each, each.part.p50_limit_ms))]
    return [*below, *unheld, *slow]


def _slower(summary: Summary, most_p50_ms: float | None) -> str:
    """Say that the median takes longer than this; nothing where it does not."""
    taken, part = summary.latency, summary.part
    if taken is None or most_p50_ms is None or taken.p50 <= most_p50_ms:
        return ""
    return f"{part.set}, {part.arm}: p50 is {taken.p50:.2f} ms, above {most_p50_ms:g} ms (n = {taken.n})."


def _unjudged(baseline: Stored, run: Stored, comparison: Comparison) -> list[str]:
    """Name each set and arm of which both have questions and no difference can be told from chance."""
    counted = {(line.set, line.arms[1]): line.n for line in comparison.lines if line.is_headline}
    asked = {(case.set, case.arm) for case in run.cases}
    wanted = dict.fromkeys((case.set, case.arm) for case in baseline.cases if not case.apart)
    if not counted and not wanted:
        return [f"All questions of {baseline.name} are apart, so that no headline decides."]
    return [
        f"{name}, {arm}: {counted.get((name, arm), 0)} questions of the headline are in both, and it takes two or more."
        for name, arm in wanted
        if (name, arm) in asked and counted.get((name, arm), 0) < FEWEST
    ]
