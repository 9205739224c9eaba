"""Cases and parts: results of every suite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

CHARACTERS_PER_TOKEN = 4
DOUBTFUL: Final = 0.3
"""Scores below mean that nothing answers (docs/explain/search.md)."""
BELOW: Final = f"below@{DOUBTFUL:g}"
"""Decisive measure of unanswered questions."""


@dataclass(frozen=True, slots=True)
class Case:
    """The result of one arm on one question, goal or note."""

    set: str
    arm: str
    unit: str
    """A turn, session, document or record."""
    id: str
    """Unique within the set, and stable between runs."""
    values: Mapping[str, float]
    cluster: str = ""
    """Cases of one cluster are dependent."""
    category: str = ""
    apart: bool = False
    """Left out of the headline figures."""
    question: str = ""
    wanted: Mapping[str, int] = field(default_factory=dict)
    found: Sequence[str] = field(default_factory=list)
    """Ids, best first."""
    took_ms: float | None = None
    tokens: int | None = None
    best: Sequence[str] = field(default_factory=list)
    """Beginnings of the best texts."""
    missed: Sequence[str] = field(default_factory=list)
    """Beginnings of missed texts."""
    score: float | None = None
    """Score of the best hit, 0 without one; `None` if the arm's scores do not compare."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.set, self.arm, self.id


@dataclass(frozen=True, slots=True)
class Part:
    set: str
    arm: str
    unit: str
    texts: int | None
    measure: str
    floor: float | None = None
    goal: float | None = None
    p50_limit_ms: float | None = None
    resident_mb: float | None = None
    """Server memory after the last question."""
    note: str = ""
