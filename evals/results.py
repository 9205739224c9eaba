"""What every suite of evaluations hands over: cases with their values, and facts about how they came about."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

CHARACTERS_PER_TOKEN = 4
"""As everywhere in the product where tokens are told without a language model."""
NOTE_BREAK = "; "
"""Between the clauses of a part's note."""
SEPARATION: Final = "AUROC"
"""By what questions that nothing answers are judged: how well scores tell them from those that something answers."""
_BESIDE: Final = " unanswered"


@dataclass(frozen=True, slots=True)
class Case:
    """One question, goal or note, and how one arm did on it."""

    set: str
    arm: str
    unit: str
    """What is found: a turn, a session, a document, a record."""
    id: str
    """Unique within the set; the same in every run on the same data."""
    values: Mapping[str, float]
    """By measure."""
    cluster: str = ""
    """Cases of one cluster are not independent; empty when it stands alone."""
    category: str = ""
    apart: bool = False
    """Whether it is left out of the headline figures."""
    question: str = ""
    wanted: Mapping[str, int] = field(default_factory=dict)
    found: Sequence[str] = ()
    """Ids, best first."""
    took_ms: float | None = None
    tokens: int | None = None
    """Of the answer's texts, four characters each."""
    best: Sequence[str] = ()
    """How the best texts that were found begin."""
    missed: Sequence[str] = ()
    """How the texts begin that should have been found and were not."""
    score: float | None = None
    """Of the best that was found, 0 where nothing was; unknown of an arm that tells none."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies it within a run."""
        return self.set, self.arm, self.id

    def plain(self) -> dict[str, Any]:
        """As an object of JSON."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Case":
        """Read an object of JSON; what it does not say is empty."""
        row = {**plain, "found": tuple(plain.get("found", ())), "best": tuple(plain.get("best", ()))}
        return cls(**{**row, "missed": tuple(plain.get("missed", ()))})


@dataclass(frozen=True, slots=True)
class Part:
    """One set through one arm: how large it was and what it took."""

    set: str
    arm: str
    unit: str
    texts: int | None
    """How many can be found; unknown of cases without their run."""
    measure: str
    """The measure that the set is judged by."""
    floor: float | None = None
    goal: float | None = None
    p50_limit_ms: float | None = None
    loading_s: float | None = None
    """What storing and indexing took its server; None where that stored nothing, or was interrupted as it did."""
    asking_s: float | None = None
    """Wall time of all questions, so that n / asking_s is the throughput."""
    resident_mb: float | None = None
    """Memory of the server after the last question; unknown of a server elsewhere."""
    peak_mb: float | None = None
    note: str = ""
    """What else is to be known of it, such as the files that were read: clauses with `NOTE_BREAK` between them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a suite measured."""

    cases: Sequence[Case]
    parts: Sequence[Part]
    details: str = ""
    """What it has to say beside the figures, in Markdown."""
    document: Mapping[str, object] = field(default_factory=dict)
    """Figures of its own, for programs."""


def beside(name: str) -> str:
    """Name the set of the questions of a set that nothing answers."""
    return name + _BESIDE


def answered_beside(name: str) -> str:
    """Name the set whose questions have answers, of one that was named by `beside`; empty of any other."""
    return name.removesuffix(_BESIDE) if name.endswith(_BESIDE) else ""
