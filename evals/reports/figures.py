"""What a run's cases amount to. Pure: cases in, figures out; every figure knows its unit and its n."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evals.metrics import Interval, Scores, area, bootstrap
from evals.results import SEPARATION, Case, Part, answered_beside
from evals.runs import Stored

HEADLINE = ""
"""The category of the figures over everything that is not apart: no set can name one so."""
ALL = "all"
"""What the headline is called."""
DEFAULT_MEASURE = "recall@10"
"""What decides over cases that come without their run, where they have it."""
MISSED = "MISSED"
"""The verdict on a figure below its floor, and on a median above its limit."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure over some cases."""

    category: str
    measure: str
    interval: Interval
    clusters: int
    apart: bool = False
    """Whether all of them are left out of the headline."""
    partly_apart: bool = False
    """Whether some are, and others not."""

    @property
    def title(self) -> str:
        """The category as people read it."""
        return titled(self.category) + (" (apart)" if self.apart else " (partly apart)" if self.partly_apart else "")


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds per query, from sending it to having the whole answer; percentiles by nearest rank."""

    p50: float
    p95: float
    p99: float
    n: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One set through one arm."""

    part: Part
    cases: Sequence[Case]
    figures: Sequence[Figure]
    """The headline first, then by category."""
    latency: Latency | None
    queries_per_s: float | None
    """None, too, where no time may be told of an arm."""
    tokens: float | None
    """Mean per answer."""

    @property
    def measures(self) -> list[str]:
        """The measures, that by which the set is judged first."""
        names = dict.fromkeys(figure.measure for figure in self.figures)
        return sorted(names, key=lambda name: name != self.part.measure)

    @property
    def categories(self) -> list[str]:
        """The categories, the headline first and those that are apart last."""
        found = {figure.category: figure.apart for figure in self.figures}
        return sorted(found, key=lambda name: (name != HEADLINE, found[name], name))

    def figure(self, category: str, measure: str) -> Figure | None:
        """Return one of the figures."""
        return next((each for each in self.figures if (each.category, each.measure) == (category, measure)), None)

    @property
    def headline(self) -> Figure | None:
        """The figure by which the set is judged."""
        return self.figure(HEADLINE, self.part.measure)

    @property
    def verdict(self) -> str:
        """Whether the headline reaches the goal, passes or misses the floor; empty without a floor."""
        figure, part = self.headline, self.part
        if figure is None or part.floor is None:
            return ""
        if part.goal is not None and figure.interval.mean >= part.goal:
            return "goal"
        return "passed" if figure.interval.mean >= part.floor else MISSED

    @property
    def speed_verdict(self) -> str:
        """Whether the median is within the limit; empty where there is none."""
        if self.part.p50_limit_ms is None or self.latency is None:
            return ""
        return "passed" if self.latency.p50 <= self.part.p50_limit_ms else MISSED


def titled(category: str) -> str:
    """Name a category so that none is taken for the headline."""
    if category == HEADLINE:
        return ALL
    return f"{ALL} (category)" if category == ALL else category


def summaries(stored: Stored) -> list[Summary]:
    """Sum up every set and arm of a run, in the order in which they were measured."""
    by_part: dict[tuple[str, str], list[Case]] = {}
    for case in stored.cases:
        by_part.setdefault((case.set, case.arm), []).append(case)
    parts = {(part.set, part.arm): part for part in stored.parts}
    return [
        _summary(parts.get((name, arm)) or _part_of(cases), cases, by_part.get((answered_beside(name), arm), ()))
        for (name, arm), cases in by_part.items()
    ]


def latency(cases: Sequence[Case]) -> Latency | None:
    """Sum up the times of the cases that have one."""
    times = [case.took_ms for case in cases if case.took_ms is not None]
    if not times:
        return None
    p50, p95, p99 = np.percentile(times, (50, 95, 99), method="inverted_cdf")
    return Latency(float(p50), float(p95), float(p99), len(times))


def clusters_of(cases: Sequence[Case]) -> list[str]:
    """Name the independent unit that each case belongs to."""
    return [case.cluster or f"case {case.id}" for case in cases]


def scores_of(lacking: Sequence[Case], answered: Sequence[Case]) -> Scores | None:
    """Lay out what questions without an answer are told by; None where a score, or all of one kind, is not known."""
    cases = [*lacking, *answered]
    scores = [case.score for case in cases if case.score is not None]
    told = Scores(scores, clusters_of(cases), [place >= len(lacking) for place in range(len(cases))])
    return told if len(scores) == len(cases) and told.can_tell else None


def _part_of(cases: Sequence[Case]) -> Part:
    """What can be said of cases without their run."""
    first = cases[0]
    measure = DEFAULT_MEASURE if DEFAULT_MEASURE in first.values else next(iter(first.values), "")
    return Part(first.set, first.arm, first.unit, None, measure, note="by what it is judged is not known")


def _summary(part: Part, cases: Sequence[Case], answered: Sequence[Case]) -> Summary:
    groups = {HEADLINE: [case for case in cases if not case.apart]}
    for case in cases:
        if case.category:
            groups.setdefault(case.category, []).append(case)
    figures = [
        _figure(category, measure, group, answered)
        for category, group in groups.items()
        if group
        for measure in dict.fromkeys(name for case in group for name in case.values)
    ]
    tokens = [case.tokens for case in cases if case.tokens is not None]
    taken = latency(cases)
    return Summary(
        part=part,
        cases=cases,
        figures=figures,
        latency=taken,
        queries_per_s=len(cases) / part.asking_s if part.asking_s and taken else None,
        tokens=sum(tokens) / len(tokens) if tokens else None,
    )


def _figure(category: str, measure: str, cases: Sequence[Case], answered: Sequence[Case]) -> Figure:
    having = [case for case in cases if measure in case.values]
    told = scores_of(having, [case for case in answered if not case.apart]) if measure == SEPARATION else None
    interval = area(told) if told else bootstrap([case.values[measure] for case in having], clusters_of(having))
    apart = {case.apart for case in cases}
    return Figure(category, measure, interval, len(set(clusters_of(cases))), apart == {True}, len(apart) > 1)
