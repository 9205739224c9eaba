"""Cases and parts: the results that every suite hands over."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

CHARACTERS_PER_TOKEN = 4
NOTE_BREAK = "; "
"""Between the clauses of a part's note."""
SEPARATION: Final = "AUROC"
"""Measure of questions without an answer."""
_BESIDE: Final = " unanswered"


@dataclass(frozen=True, slots=True)
class Case:
    """The result of one arm on one question, goal or note."""

    set: str
    arm: str
    unit: str
    """Kind of thing that is found: a turn, a session, a document, a record."""
    id: str
    """Unique within the set, and the same in every run on the same data."""
    values: Mapping[str, float]
    cluster: str = ""
    """Cases of one cluster are not independent; empty if it stands alone."""
    category: str = ""
    apart: bool = False
    """Left out of the headline figures."""
    question: str = ""
    wanted: Mapping[str, int] = field(default_factory=dict)
    found: Sequence[str] = ()
    """Ids, best first."""
    took_ms: float | None = None
    tokens: int | None = None
    best: Sequence[str] = ()
    """Beginnings of the best texts that were found."""
    missed: Sequence[str] = ()
    """Beginnings of the texts that were wanted and not found."""
    score: float | None = None
    """Score of the best hit, 0 without one; `None` for arms without comparable scores."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity within a run."""
        return self.set, self.arm, self.id

    def plain(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Part:
    """One set asked by one arm."""

    set: str
    arm: str
    unit: str
    texts: int | None
    measure: str
    """The measure that the set is judged by."""
    floor: float | None = None
    goal: float | None = None
    p50_limit_ms: float | None = None
    resident_mb: float | None = None
    """Memory of the server after the last question."""
    note: str = ""
    """Remarks for the report, separated by `NOTE_BREAK`."""


def beside(name: str) -> str:
    """Name the set of a set's questions without an answer."""
    return name + _BESIDE


def answered_beside(name: str) -> str:
    """Invert `beside`; empty for other names."""
    return name.removesuffix(_BESIDE) if name.endswith(_BESIDE) else ""
