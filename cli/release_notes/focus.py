"""Apply `--instructions` without a language model: changes to put first or to leave out.

A sentence with `without`, `skip`, `omit` … names what to leave out; `only` excludes the rest; other sentences name what
comes first. Words match a change's text, scope, areas, details or kind. Words about tone or language match nothing, and
the command reports them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cli.release_notes.facts import Change, ChangeKind
from tools.text.plain import one_line

_CLAUSE = re.compile(r"[.;!?\n]+|,?\s+\b(?:but|and then)\b\s+")
_WORD = re.compile(r"[^\W_](?:[\w.+#/-]*[\w+#])?")
_LEFT_OUT = re.compile(
    r"\b(?:without|skip|omit|exclude|excluding|ignore|hide|drop|except|leave out|leaving out|no|not|don't|do not)\b",
    re.I,
)
_MORE = re.compile(r"\bnot (?:only|just)\b", re.I)
_MANNER = re.compile(r"\b(?:not|n't|no) (?:be )?(?:too|so|very|overly)\b", re.I)
_ALONE = re.compile(r"\b(?:only|solely|exclusively|nothing but)\b", re.I)
_FUNCTION_WORDS = """
a about add after all also an and any anything are as at audience be before brief by can change changes changed
concentrate cover covering describe detail details do draw during each emphasis emphasise emphasize especially
everything first focus focused focusing for from full give has have highlight highlighting how i in include including
into is it its item items keep know language list look make makes mainly matter matters me mention mentioning more most
mostly much my new not note notes of on one or other our out over particular people please point points present put
read reader readers release releases relevant say section see short should show so some statement statements stress
such talk tell than that the their them these they thing things this those to tone too update updates us use used user
users using version want we what when where which who will with work would write writing you your leave skip omit only
skipping without exclude ignore hide drop no don't except
"""
_STOP = frozenset(_FUNCTION_WORDS.split())
_KINDS: dict[ChangeKind, str] = {
    "feature": "feature features",
    "improvement": "improvement improvements enhancement enhancements",
    "fix": "fix fixes bug bugs bugfix bugfixes",
    "performance": "performance speed faster",
    "security": "security vulnerability vulnerabilities cve",
    "deprecation": "deprecation deprecations deprecated",
    "removal": "removal removals removed",
    "documentation": "documentation docs doc",
    "dependency": "dependency dependencies bumps",
    "internal": "internal internals refactoring refactorings refactor refactors chore chores ci tests",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_BREAKING = frozenset({"breaking", "incompatible", "incompatibilities", "incompatibility"})
WORDS = 20
"""Most words; longer instructions name no focus."""
_STEM = 4
"""Shorter words must match whole."""


@dataclass(frozen=True, slots=True)
class Focus:
    """Parsed instructions: words to put `first` or leave out; `alone` hides all others."""

    first: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    alone: bool = False
    asked: str = ""

    def leads(self, change: Change) -> bool:
        return any(matches(word, change) for word in self.first)

    def chosen(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        """Return the changes to list, requested ones first; breaking ones always stay."""
        kept = [change for change in changes if change.breaking or not self._drops(change)]
        return tuple(sorted(kept, key=lambda change: not self.leads(change)))

    def found(self, changes: Sequence[Change]) -> dict[str, int]:
        return {word: sum(matches(word, change) for change in changes) for word in (*self.first, *self.left_out)}

    def _drops(self, change: Change) -> bool:
        return any(matches(word, change) for word in self.left_out) or (self.alone and not self.leads(change))


def read_focus(instructions: str | None) -> Focus:
    asked = one_line(instructions or "")
    first: list[str] = []
    left_out: list[str] = []
    alone = False
    for clause in _CLAUSE.split(instructions or ""):
        if _MANNER.search(clause):
            continue
        # `not only …` asks for more, not for less.
        asks_for_more = _MORE.search(clause) is not None
        cue = None if asks_for_more else _LEFT_OUT.search(clause)
        wanted, unwanted = (clause[: cue.start()], clause[cue.end() :]) if cue else (clause, "")
        alone = alone or (_ALONE.search(wanted) is not None and not asks_for_more)
        first += _words(wanted)
        left_out += _words(unwanted)
    return Focus(_distinct(first), _distinct(left_out), alone and bool(first), asked)


def matches(word: str, change: Change) -> bool:
    if word in _BREAKING:
        return change.breaking
    kind = _KIND_OF.get(word)
    if kind is not None and change.kind == kind:
        return True
    stem, pattern = _pattern(word)
    texts = (change.text, change.scope or "", *change.areas, change.details)
    # Most texts do not even have the letters, and looking for them is quick.
    return any(stem in text.casefold() and pattern.search(text) for text in texts)


def _distinct(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:WORDS]


def _words(text: str) -> list[str]:
    words = [word.lower() for word in _WORD.findall(text)]
    return [word for word in words if word not in _STOP and (len(word) > 1 or word in "cr")]


@lru_cache(maxsize=256)
def _pattern(word: str) -> tuple[str, re.Pattern[str]]:
    # `migrations` finds `migration`, and `search` finds `searches`.
    stem = word[:-1] if len(word) > _STEM and word.endswith("s") and not word.endswith("ss") else word
    end = r"(?:e?s|ed|ing)?" if len(stem) >= _STEM else ""
    return stem.casefold(), re.compile(rf"(?<![^\W_]){re.escape(stem)}{end}(?![^\W_])", re.IGNORECASE)
