"""Speakers of raw memories, and the speakers that a query names."""

import re
from collections.abc import Collection, Iterable, Mapping

from stores.hashing import hash64
from stores.language.wording import STOP_WORDS, comparable

SPEAKER = "speaker"
NOBODY = 0

# A line of a transcript: "Ines: …", "[10:32 am, 8 May 2023] Ines Duarte: …", "<ines> …".
# Blanks after a stamp belong to it: two adjacent runs of blanks would backtrack quadratically.
_STAMP = r"(?:(?:\[[^\]\n]{1,60}\]|\([^)\n]{1,60}\))[ \t]*)?"
_WORD = r"[^\W_]+(?:[.'\u2019-][^\W_]+)*\.?"
_LINE = re.compile(rf"^[ \t]*{_STAMP}(?:<({_WORD})>|({_WORD}(?: {_WORD}){{0,2}}):)(?:[ \t]|$)", re.MULTILINE)
_READ = 20_000
"""Characters."""
_LONGEST = 100
_SPOKEN = re.compile(rf"{_WORD}|[&,]")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_JOINING = frozenset(("and", "&", ","))
_NO_NAMES = frozenset((*STOP_WORDS, "mr", "mrs", "ms", "dr", "prof"))


def speaker_of(content: str, metadata: Mapping[str, object]) -> int:
    """Return the hash of a memory's speaker, by the first word of the name.

    Titles and stop words are skipped ("Dr. Smith" is Smith). The name is `metadata.speaker`, else that before the colon
    of a transcript line. `NOBODY` without one, or with lines of several people.
    """
    given = metadata.get(SPEAKER)
    if isinstance(given, str) and (name := given.strip()):
        return _hash_of(re.findall(_WORD, name[:_LONGEST]))
    lines = list(_LINE.finditer(content, 0, _READ))
    if not lines or lines[0].start() > 0:
        return NOBODY
    numbers = [_said_by(line) for line in lines]
    return numbers[0] if len(set(numbers) - {NOBODY}) == 1 else NOBODY


def _said_by(line: re.Match[str]) -> int:
    nick, name = line.groups()
    words = (nick or name).split(" ")
    return NOBODY if name and (words[0][0].islower() or words[-1][0].islower()) else _hash_of(words)


def _hash_of(words: Iterable[str]) -> int:
    names = (word for word in words if comparable(word).rstrip(".") not in _NO_NAMES)
    return next(map(speaker_hash, names), NOBODY)


def speaker_hash(word: str) -> int:
    """Ignores case."""
    return hash64(comparable(word).rstrip("."))


def asked_about(question: str, speakers: Collection[int]) -> set[int]:
    """Return the first speaker that a query names, and those joined to that name.

    "What does Ines think of Ravi's plan" is about Ines, "what do Ines and Ravi have in common" about both.
    """
    words = _SPOKEN.findall(question)
    numbers = [speaker_hash(_POSSESSIVE.sub("", word)) for word in words]
    first = next((at for at, number in enumerate(numbers) if number in speakers), None)
    if first is None:
        return set()
    about = {numbers[first]}
    for word, number in zip(words[first + 1 :], numbers[first + 1 :], strict=True):
        if number in speakers:
            about.add(number)
        elif comparable(word) not in _JOINING:
            break
    return about
