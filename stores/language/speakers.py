"""Speakers of raw memories, and names of speakers in questions."""

import re
from collections.abc import Collection, Iterable, Mapping

from stores.hashing import hash64
from stores.language.stop_words import STOP_WORDS
from stores.language.wording import comparable

SPEAKER = "speaker"
"""The metadata key of a raw memory that says who said it."""
NOBODY = 0
"""The number of no speaker."""

# A line of a transcript: "Ines: …", "[10:32 am, 8 May 2023] Ines Duarte: …", "<ines> …".
# Blanks behind a stamp belong to it: two runs of them in a row would be divided in every way there is.
_STAMP = r"(?:(?:\[[^\]\n]{1,60}\]|\([^)\n]{1,60}\))[ \t]*)?"
_WORD = r"[^\W_]+(?:[.'\u2019-][^\W_]+)*\.?"
_LINE = re.compile(rf"^[ \t]*{_STAMP}(?:<({_WORD})>|({_WORD}(?: {_WORD}){{0,2}}):)(?:[ \t]|$)", re.MULTILINE)
_READ = 20_000
"""Characters of a memory that are looked at."""
_LONGEST = 100
_SPOKEN = re.compile(rf"{_WORD}|[&,]")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_JOINING = frozenset(("and", "&", ","))
_NO_NAMES = frozenset((*STOP_WORDS, "mr", "mrs", "ms", "dr", "prof"))


def speaker_of(content: str, metadata: Mapping[str, object]) -> int:
    """Return the number of a memory's speaker: that of the first word of a name, as questions mostly call people.

    Titles and words like "the" are skipped ("Dr. Smith" is Smith). The name is `metadata.speaker`, else the one before
    the colon where the content is a line of a transcript: at most three words of which the first and last are
    capitalized; a time in brackets may stand before it. `NOBODY` without a name, and where there are lines of several
    people.
    """
    given = metadata.get(SPEAKER)
    if isinstance(given, str) and (name := given.strip()):
        return _number_of(re.findall(_WORD, name[:_LONGEST]))
    lines = list(_LINE.finditer(content, 0, _READ))
    if not lines or lines[0].start() > 0:
        return NOBODY
    numbers = [_said_by(line) for line in lines]
    return numbers[0] if len(set(numbers) - {NOBODY}) == 1 else NOBODY


def _said_by(line: re.Match[str]) -> int:
    nick, name = line.groups()
    words = (nick or name).split(" ")
    return NOBODY if name and (words[0][0].islower() or words[-1][0].islower()) else _number_of(words)


def _number_of(words: Iterable[str]) -> int:
    names = (word for word in words if comparable(word).rstrip(".") not in _NO_NAMES)
    return next(map(speaker_number, names), NOBODY)


def speaker_number(word: str) -> int:
    """Return the 64-bit number of a name, ignoring case."""
    return hash64(comparable(word).rstrip("."))


def asked_about(question: str, speakers: Collection[int]) -> set[int]:
    """Return the speaker whom a question names first, and those joined to it.

    "What does Ines think of Ravi's plan" is about Ines, "what do Ines and Ravi have in common" about both.
    """
    words = _SPOKEN.findall(question)
    numbers = [speaker_number(_POSSESSIVE.sub("", word)) for word in words]
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
