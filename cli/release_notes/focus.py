"""Apply `--instructions` without a language model: changes to put first or to leave out, by their words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cli.release_notes.facts import Change
from cli.release_notes.words import joined
from tools.text.inline import inert
from tools.text.plain import one_line

_CLAUSE = re.compile(r"[.;!?\n]+|,?\s+\b(?:but|and then)\b\s+")
_WORD = re.compile(r"[^\W_](?:[\w.+#/-]*[\w+#])")
_LEFT_OUT = re.compile(
    r"(?<!\bnot )\b(?:without|skip|omit|exclude|ignore|hide|except|leave out|no|not|don't)\b(?! only| just| too)", re.I
)
_ALONE = re.compile(r"(?<!\bnot )\b(?:only|solely|exclusively|nothing but)\b", re.I)
_FUNCTION_WORDS = """
about all also and any are at before but by can change changes cover detail details do each everything first focus for
from give have highlight how in include into is it its items keep list make matters me mention more most my new note
notes of on or other our out point put readers release say section should so such than that the their them these they
this those to tone too use users using version want we what when where which who will with work write writing you your
leave only without skip omit exclude ignore hide except no not don't
"""
_STOP = frozenset(_FUNCTION_WORDS.split())
_KINDS = {"fixe": "fix", "bug": "fix", "speed": "performance", "doc": "documentation", "dependencie": "dependency"}


@dataclass(frozen=True, slots=True)
class Focus:
    """Parsed instructions: words to put `first` or leave out; `alone` hides all others."""

    first: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    alone: bool = False
    asked: str = ""

    def chosen(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        """Return the changes to list, requested ones first; breaking ones always stay."""
        return tuple(sorted(filter(self._keeps, changes), key=lambda change: not self._leads(change)))

    def found(self, changes: Sequence[Change]) -> dict[str, int]:
        return {word: sum(matches(word, change) for change in changes) for word in (*self.first, *self.left_out)}

    def counted(self, changes: Sequence[Change]) -> str:
        """Return a note on how many changes each word matched."""
        found = self.found(changes)
        some = ", ".join(f"{word} ({number})" for word, number in found.items() if number)
        none = ", ".join(word for word, number in found.items() if not number)
        told = "; ".join(filter(None, [some and f"found: {some}", none and f"in no change: {none}"]))
        told = told or "they name nothing that a change could be chosen by"
        return f"Note: instructions, without a language model, choose and order changes by their words. {told}."

    def told(self, changes: Sequence[Change]) -> str:
        """Return what the notes say of their choice, as Markdown; empty without instructions that match."""
        found = self.found(changes)
        first, out = (joined([inert(word) for word in words if found[word]]) for words in (self.first, self.left_out))
        begin = f"These notes {'list only' if self.alone else 'begin each list with'} what concerns {first}."
        return " ".join(filter(None, [begin if first else "", f"They leave out what concerns {out}." if out else ""]))

    def _leads(self, change: Change) -> bool:
        return any(matches(word, change) for word in self.first)

    def _keeps(self, change: Change) -> bool:
        is_out = any(matches(word, change) for word in self.left_out) or (self.alone and not self._leads(change))
        return change.breaking or not is_out


def read_focus(instructions: str | None) -> Focus:
    first: list[str] = []
    left_out: list[str] = []
    for clause in _CLAUSE.split(instructions or ""):
        wanted, *unwanted = _LEFT_OUT.split(clause, maxsplit=1)
        first += _words(wanted)
        left_out += [word for part in unwanted for word in _words(part)]
    alone = bool(first) and _ALONE.search(instructions or "") is not None
    return Focus(tuple(dict.fromkeys(first)), tuple(dict.fromkeys(left_out)), alone, one_line(instructions or ""))


def matches(word: str, change: Change) -> bool:
    stem = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
    if stem == "breaking" or _KINDS.get(stem, stem) == change.kind:
        return change.breaking or stem != "breaking"
    pattern = rf"(?<![^\W_]){re.escape(stem)}{'(?:e?s|ed|ing)?' if len(stem) > 3 else ''}(?![^\W_])"
    texts = (change.text, change.scope or "", change.details)
    # Most texts do not even have the letters, and looking for them is quick.
    return any(stem in text.casefold() and re.search(pattern, text, re.I) for text in texts)


def _words(text: str) -> list[str]:
    return [word for word in map(str.lower, _WORD.findall(text)) if word not in _STOP]
