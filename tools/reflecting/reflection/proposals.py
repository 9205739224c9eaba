"""Verification of a model's proposals against the notes."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from tools.reflecting.reflection.cues import mask
from tools.reflecting.reflection.extract import Span, findings_of
from tools.reflecting.reflection.finding import CEILINGS, KINDS, TITLE_LIMIT, Finding, Kind
from tools.reflecting.reflection.similarity import terms
from tools.reflecting.reflection.stating import stated, title_of
from tools.reflecting.reflection.words import signals

Flaw = Literal["unknown_kind", "no_such_span", "not_stated", "doubtful", "overlapping", "too_many"]
FLAWS: tuple[Flaw, ...] = get_args(Flaw)
MOST = 100
QUOTE_LIMIT = 2_000
LEAST_SURE = 0.5
_LEAST_WORDS = 2
_PLACES = 20
_UNSURE = 0.05
REASON = "A language model proposed it, and the notes say it in these words."
_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Proposal:
    """White space of `quote` may differ from the notes."""

    kind: str
    quote: str
    title: str = ""
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    findings: list[Finding]
    dropped: Mapping[Flaw, int]


class _Notes:
    def __init__(self, text: str) -> None:
        self.text = text
        self.words = list(_TOKEN.finditer(text))
        self.collapsed = " ".join(match[0] for match in self.words)

    def places(self, quote: str) -> Iterable[tuple[int, int]]:
        wanted = " ".join(quote.split())
        at = self.collapsed.find(wanted)
        for _ in range(_PLACES):
            if at < 0:
                return
            yield self._origin(at), self._origin(at + len(wanted) - 1) + 1
            at = self.collapsed.find(wanted, at + 1)

    def _origin(self, at: int) -> int:
        word = self.words[self.collapsed.count(" ", 0, at)]
        return word.start() + at - self.collapsed.rfind(" ", 0, at) - 1


def admit(notes: str, proposals: Sequence[Proposal], *, limit: int) -> Admitted:
    """Return the surest `limit` proposals that the notes support, in text order.

    Content, tags and sensitivity flags come from the notes; confidence is capped by kind.
    """
    read = _Notes(notes)
    dropped: Counter[Flaw] = Counter()
    if len(proposals) > MOST:
        dropped["too_many"] = len(proposals) - MOST
    taken: list[Span] = []
    for proposal in sorted(proposals[:MOST], key=lambda each: -_confidence(each)):
        found = _claimed(read, proposal, taken)
        if isinstance(found, Span):
            taken.append(found)
        else:
            dropped[found] += 1
    return Admitted(findings_of(notes, sorted(taken, key=lambda each: each.start), limit), dict(dropped))


def _confidence(proposal: Proposal) -> float:
    kind = _kind(proposal)
    ceiling = CEILINGS[kind] if kind else 0.0
    sure = proposal.confidence
    return min(ceiling, sure) if sure is not None and 0 <= sure <= 1 else ceiling - _UNSURE


def _kind(proposal: Proposal) -> Kind | None:
    return next((kind for kind in KINDS if kind == proposal.kind), None)


def _claimed(notes: _Notes, proposal: Proposal, taken: Sequence[Span]) -> Span | Flaw:
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
    if (found := next(free, None)) is None:
        return "overlapping"
    return Span(kind, *found, REASON, confidence, title=_title(proposal.title, notes.text[slice(*found)]))


def _is_stated(kind: Kind, quote: str) -> bool:
    found = signals(mask(quote))
    if kind in ("idea", "session"):
        return True
    return "question" not in found and not (kind == "decision" and "undecided" in found)


def _title(proposed: str, content: str) -> str:
    title = " ".join(proposed.split())
    one, other = terms(title), terms(content)
    fits = bool(one.stems) and one.stems <= other.stems and one.numbers <= other.numbers
    says_the_same = fits and one.negated == other.negated and stated(title).is_rejected == stated(content).is_rejected
    return title if says_the_same and len(title) <= TITLE_LIMIT and title.isprintable() else title_of(content)
