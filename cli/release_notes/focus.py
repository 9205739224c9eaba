"""Apply `--instructions` without a language model: changes to put first or to leave out, by their words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cli.release_notes.facts import Change
from cli.release_notes.words import joined
from stores.language.wording import STOP_WORDS
from tools.text.inline import inert
from tools.text.plain import one_line

_CLAUSE = re.compile(r"[.;!?\n]+")
_WORD = re.compile(r"[^\W_](?:[\w.+#/-]*[\w+#])")
_LEFT_OUT = re.compile(
    r"(?<!\bnot )\b(?:without|skip|omit|exclude|ignore|hide|except|leave out|no|not|don't)\b(?! only| just| too)", re.I
)
_ALONE = re.compile(r"(?<!\bnot )\b(?:only|solely|exclusively|nothing but)\b", re.I)
_OF_INSTRUCTIONS = """
change changes cover detail details everything first focus give highlight include items keep list make matters mention
new note notes point put readers release say section tone use users using version want work write writing leave don't
"""
_STOP = frozenset((*STOP_WORDS, *_OF_INSTRUCTIONS.split()))
_KINDS = {"fixe": "fix", "bug": "fix", "speed": "performance", "doc": "documentation", "dependencie": "dependency"}


@dataclass(frozen=True, slots=True)
class Focus:
    """Parsed instructions: words to put `first` or leave out; `alone` hides all others."""

    first: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    alone: bool = False
    asked: str = ""

    def chosen(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes to list, requested ones first; breaking ones always stay."""
        leads = {id(change) for change in changes if any(matches(word, change) for word in self.first)}

        def stays(change: Change) -> bool:
            unwanted = any(matches(word, change) for word in self.left_out)
            return change.breaking or not (unwanted or (self.alone and id(change) not in leads))

        return sorted(filter(stays, changes), key=lambda change: id(change) not in leads)

    def told(self, changes: Sequence[Change]) -> str:
        """Return what the notes say of their choice, as Markdown; empty without instructions that match."""
        first, out = (
            joined([inert(word) for word in words if any(matches(word, change) for change in changes)])
            for words in (self.first, self.left_out)
        )
        begin = f"These notes {'list only' if self.alone else 'begin each list with'} what concerns {first}."
        return " ".join(filter(None, [begin if first else "", f"They leave out what concerns {out}." if out else ""]))


def read_focus(instructions: str) -> Focus:
    clauses = [_LEFT_OUT.split(clause, maxsplit=1) for clause in _CLAUSE.split(instructions)]
    first, left_out = (_words(" ".join(clause[at] for clause in clauses if at < len(clause))) for at in (0, 1))
    return Focus(first, left_out, bool(first and _ALONE.search(instructions)), one_line(instructions))


def matches(word: str, change: Change) -> bool:
    stem = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
    if stem == "breaking" or _KINDS.get(stem, stem) == change.kind:
        return change.breaking or stem != "breaking"
    pattern = rf"(?<![^\W_]){re.escape(stem)}{'(?:e?s|ed|ing)?' if len(stem) > 3 else ''}(?![^\W_])"
    texts = (change.text, change.scope or "", change.details)
    # Most texts do not even have the letters, and looking for them is quick.
    return any(stem in text.casefold() and re.search(pattern, text, re.I) for text in texts)


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in map(str.lower, _WORD.findall(text)) if word not in _STOP))
