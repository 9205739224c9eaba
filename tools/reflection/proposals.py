"""Holds what a model proposes against the notes: only what they say, at a place that exists. Pure."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from tools.reflection.cue_row import CEILINGS
from tools.reflection.finding import KINDS, TITLE_LIMIT, Finding, Kind
from tools.reflection.phrases import mask
from tools.reflection.sensitivity import sensitivity_flags
from tools.reflection.signals import signals
from tools.reflection.similarity import groups
from tools.reflection.stating import stated
from tools.reflection.terms import terms
from tools.reflection.titles import tags_of, title_of

Flaw = Literal["unknown_kind", "no_such_span", "not_stated", "doubtful", "overlapping", "too_many"]
FLAWS: tuple[Flaw, ...] = get_args(Flaw)
"""Why a proposal is dropped."""
MOST = 100
"""Proposals that are read; a model that goes on is not listened to."""
QUOTE_LIMIT = 2_000
"""Characters of the notes that one proposal may quote."""
LEAST_SURE = 0.5
_LEAST_WORDS = 2
_PLACES = 20
"""Places of one quotation that are tried, where earlier ones are taken."""
_UNSURE = 0.05
"""What a proposal without a confidence lacks to the most that its kind can have."""
_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Proposal:
    """One thing that somebody else found in the notes, unchecked."""

    kind: str
    quote: str
    """Words of the notes; line breaks and blanks may differ."""
    title: str = ""
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """What the notes bear out, and why the rest was dropped."""

    findings: list[Finding]
    dropped: Mapping[Flaw, int]


@dataclass(frozen=True, slots=True)
class _Claimed:
    kind: Kind
    start: int
    end: int
    confidence: float
    title: str


@dataclass(slots=True)
class _Notes:
    """The notes with every run of blanks as one, and where each word of that stands."""

    text: str
    collapsed: str = ""
    starts: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        found = list(_TOKEN.finditer(self.text))
        self.collapsed = " ".join(match[0] for match in found)
        at = 0
        for match in found:
            self.starts.append(at)
            self.origins.append(match.start())
            at += match.end() - match.start() + 1

    def places(self, quote: str) -> Iterable[tuple[int, int]]:
        """Yield where a quotation stands in the notes, in their order; letters must be the same."""
        wanted = " ".join(quote.split())
        at = self.collapsed.find(wanted)
        for _ in range(_PLACES):
            if at < 0:
                return
            yield self._origin(at), self._origin(at + len(wanted) - 1) + 1
            at = self.collapsed.find(wanted, at + 1)

    def _origin(self, at: int) -> int:
        token = bisect_right(self.starts, at) - 1
        return self.origins[token] + at - self.starts[token]


def admit(notes: str, proposals: Sequence[Proposal], *, limit: int) -> Admitted:
    """Return the proposals that the notes bear out, in the order of the text, the surest `limit` of them.

    A proposal is dropped where its kind is none, its quotation does not stand in the notes, what it quotes is a
    question or not decided, it is hardly sure of itself, or a surer one has the place. Content, tags and sensitivity
    flags come from the notes; the confidence is at most what a finding of the kind can have; a title that is not made
    of the quotation's words is replaced.
    """
    read = _Notes(notes)
    dropped: Counter[Flaw] = Counter()
    if len(proposals) > MOST:
        dropped["too_many"] = len(proposals) - MOST
    taken: list[_Claimed] = []
    for proposal in sorted(proposals[:MOST], key=lambda each: -_confidence(each)):
        found = _claimed(read, proposal, taken)
        if isinstance(found, _Claimed):
            taken.append(found)
        else:
            dropped[found] += 1
    folded = _folded(notes, sorted(taken, key=lambda each: each.start))
    surest = sorted(folded, key=lambda each: (-each.confidence, each.start))[:limit]
    return Admitted(sorted(surest, key=lambda each: each.start), dict(dropped))


def _confidence(proposal: Proposal) -> float:
    kind = _kind(proposal)
    ceiling = CEILINGS[kind] if kind else 0.0
    sure = proposal.confidence
    # What is not a number compares with nothing.
    return min(ceiling, sure) if sure is not None and 0 <= sure <= 1 else ceiling - _UNSURE


def _kind(proposal: Proposal) -> Kind | None:
    return next((kind for kind in KINDS if kind == proposal.kind), None)


def _claimed(notes: _Notes, proposal: Proposal, taken: Sequence[_Claimed]) -> _Claimed | Flaw:
    kind = _kind(proposal)
    if kind is None:
        return "unknown_kind"
    confidence = round(_confidence(proposal), 2)
    if confidence < LEAST_SURE:
        return "doubtful"
    is_quotation = len(proposal.quote) <= QUOTE_LIMIT and len(_WORD.findall(proposal.quote)) >= _LEAST_WORDS
    places = list(notes.places(proposal.quote)) if is_quotation else []
    if not places:
        return "no_such_span"
    if not _is_stated(kind, proposal.quote):
        return "not_stated"
    free = (place for place in places if all(place[1] <= other.start or place[0] >= other.end for other in taken))
    found = next(free, None)
    return _Claimed(kind, *found, confidence, proposal.title) if found else "overlapping"


def _is_stated(kind: Kind, quote: str) -> bool:
    """Whether words can be of this kind: a question is at most an idea, and what is undecided no decision."""
    found = signals(mask(quote))
    if kind in ("idea", "session"):
        return True
    return "question" not in found and not (kind == "decision" and "undecided" in found)


def _folded(notes: str, claimed: Sequence[_Claimed]) -> list[Finding]:
    leaders = groups([(each.kind, notes[each.start : each.end]) for each in claimed])
    counts = Counter(leaders)
    return [replace(_finding(notes, claimed[number]), count=count) for number, count in counts.items()]


def _finding(notes: str, claimed: _Claimed) -> Finding:
    content = notes[claimed.start : claimed.end]
    return Finding(
        kind=claimed.kind,
        title=_title(claimed.title, content),
        content=content,
        start=claimed.start,
        end=claimed.end,
        reason="A language model proposed it, and the notes say it in these words.",
        confidence=claimed.confidence,
        tags=tags_of(claimed.kind, content),
        sensitivity_flags=sensitivity_flags(content),
    )


def _title(proposed: str, content: str) -> str:
    """Take a title that is made of the content's words; nothing else gets in by it."""
    title = " ".join(proposed.split())
    one, other = terms(title), terms(content)
    fits = bool(one.stems) and one.stems <= other.stems and one.numbers <= other.numbers
    says_the_same = fits and one.negated == other.negated and stated(title).is_rejected == stated(content).is_rejected
    return title if says_the_same and len(title) <= TITLE_LIMIT and title.isprintable() else title_of(content)
