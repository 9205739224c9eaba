"""The questions that did worst, one entry each with what every arm made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evals.reports.figures import Summary
from evals.reports.tables import NONE, Table, digits
from evals.results import Case

TITLE = "Worst questions"
BREAK = "<br>"
"""Within a cell of a table in Markdown, which knows no other."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a set, as all arms answered it."""

    cases: Mapping[str, Case]
    """By arm."""
    measure: str

    @property
    def case(self) -> Case:
        """What is the same for every arm: the set, the category, the question."""
        return next(iter(self.cases.values()))

    def value(self, arm: str) -> float:
        """What an arm reached by the measure of the set."""
        return self.cases[arm].values.get(self.measure, 0.0)

    @property
    def mean(self) -> float:
        """The mean over the arms."""
        return sum(map(self.value, self.cases)) / len(self.cases)

    @property
    def missed(self) -> dict[str, list[str]]:
        """How the texts begin that were wanted and not found, with the arms that missed them."""
        texts: dict[str, list[str]] = {}
        for arm, case in self.cases.items():
            for text in dict.fromkeys(case.missed):
                texts.setdefault(text, []).append(arm)
        return texts

    def places(self, arm: str) -> str:
        """Say at which places an arm found what was wanted, or how good it called what answers nothing."""
        case = self.cases[arm]
        if not case.wanted and case.score is not None:
            return f"nothing answers it, best score {digits(case.score)}"
        ranks = [str(rank) for rank, found in enumerate(case.found, start=1) if found in case.wanted]
        return f"at {', '.join(ranks)} of {len(case.found)}" if ranks else "not found"


def worst(found: Sequence[Summary], count: int) -> list[Asked]:
    """Choose of each set the questions that did worst by any arm, `count` for each; the worst by all arms first."""
    chosen = []
    for name in dict.fromkeys(each.part.set for each in found):
        same = [each for each in found if each.part.set == name]
        measure = same[0].part.measure
        asked: dict[str, dict[str, Case]] = {}
        for each in same:
            for case in each.cases:
                asked.setdefault(case.id, {})[each.part.arm] = case
        ids = dict.fromkeys(case.id for each in same for case in _worst_of(each, count))
        entries = [Asked(asked[one], measure) for one in ids]
        chosen += sorted(entries, key=lambda one: (one.mean, -len(one.case.wanted), one.case.id))
    return chosen


def _worst_of(summary: Summary, count: int) -> list[Case]:
    measure = summary.part.measure
    ordered = sorted(
        (case for case in summary.cases if not case.apart and case.question and measure in case.values),
        key=lambda case: (case.values.get(measure, 0.0), -len(case.wanted), case.id),
    )
    return [case for case in ordered[:count] if case.values.get(measure, 0.0) < 1]


def said(entries: Sequence[Asked]) -> str:
    """What has to be known to read the entries."""
    some = any(len(entry.cases) > 1 for entry in entries)
    return f"By the measure of the set{', the worst by all arms first' if some else ''}; texts are cut."


def as_table(entries: Sequence[Asked]) -> Table:
    """Lay the entries out as one table with a row for each question."""
    rows = [
        [
            entry.case.set, entry.case.category, entry.case.question,
            BREAK.join(f"{arm} {digits(entry.value(arm))}, {entry.places(arm)}" for arm in entry.cases),
            BREAK.join(named(text, arms, entry) for text, arms in entry.missed.items()) or NONE,
            BREAK.join(f"{arm}: {' / '.join(case.best) or 'nothing'}" for arm, case in entry.cases.items()),
        ]
        for entry in entries
    ]  # fmt: skip
    columns = ("set", "category", "question", "wanted was found", "not found", "found instead")
    return Table(TITLE, columns, rows, said(entries))


def named(text: str, arms: Sequence[str], entry: Asked) -> str:
    """Add to a text that was missed by which arms, where others found it."""
    return text if len(arms) == len(entry.cases) else f"{text} (not by {', '.join(arms)})"
