"""Case and accent folding, stop words and Latin script, shared by indexing and search."""

import re
import unicodedata
from functools import lru_cache

# The case folding of a dotted capital I, which nobody types.
_DOTTED_I = "i\u0307"
_ACCENTS = re.compile("[\u0300-\u036f]+")
_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe"})
# Greek, Cyrillic, Hebrew, Arabic and Indic scripts.
_MARKED = re.compile("[\u0300-\u052f\u0591-\u06ff\u0900-\u0dff\u1f00-\u1fff]+")
_NUKTA_AND_VIRAMA = (7, 9)
"""Combining classes of the Indic marks that are left out; vowel signs stay."""
_LETTERS = tuple(unicodedata.normalize("NFD", letter) for letter in "йїў")
"""No marked forms of other letters."""
# Variants that Lucene's normalisers of Arabic and Persian fold, too; without the tatweel.
_VARIANTS = str.maketrans("ٱىیةک", "اييهك", "\u0640") | {
    code: str(unicodedata.decimal(chr(code))) for code in range(0x660, 0x2000) if chr(code).isdecimal()
}
_READ_CHARACTERS = 2_000
_STOP_WORD_TABLE = (
    "a about above after again all also am an and any are as at be because been before being below between both "
    "but by can could did do does doing down during each few for from further had has have having he her here "
    "hers him his how i if in into is it its just me more most my no nor not of off on once only or other our out "
    "over own same she should so some such than that the their them then there these they this those through to "
    "too under until up very was we were what when where which while who whom why will with would you your s t d "
    "ll m re ve "
)
STOP_WORDS = tuple(_STOP_WORD_TABLE.split())
"""English ones."""


def comparable(text: str) -> str:
    """Fold case. Idempotent. Folds more than `encoding.fold`."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold()).replace(_DOTTED_I, "i")


def folded(text: str) -> str:
    """Fold case, digits, and optional marks of other scripts than Latin. Idempotent.

    Marks of Greek, Cyrillic, Hebrew and Arabic, viramas and nuktas go: `Ёлка` is `елка`, `أحمد` is `احمد`.
    """
    if text.isascii():
        return text.lower()
    return _MARKED.sub(_without_marks, comparable(text)).translate(_VARIANTS)


def plain(text: str) -> str:
    """Fold case, digits, accents and marks of every script, as people type when they look for a text."""
    return without_accents(folded(text))


def _without_marks(run: re.Match[str]) -> str:
    decomposed = unicodedata.normalize("NFD", run.group())
    kept = [
        character
        for before, character in zip(("", *decomposed), decomposed, strict=False)
        if not _is_optional(character) or before + character in _LETTERS
    ]
    return unicodedata.normalize("NFC", "".join(kept))


def _is_optional(character: str) -> bool:
    combining = unicodedata.combining(character)
    return combining > 0 and (character < "\u0900" or combining in _NUKTA_AND_VIRAMA)


def without_accents(text: str) -> str:
    """Remove accents and ligatures from a lower-case text."""
    if text.isascii():
        return text
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", text.translate(_LIGATURES)))


def is_latin(text: str) -> bool:
    """Return whether half of the letters and digits in the first 2,000 characters are Latin; False without any."""
    if text.isascii():
        return any(map(str.isalnum, text))
    telling = [each for each in text[:_READ_CHARACTERS] if each.isalnum()]
    return bool(telling) and 2 * sum(map(_is_latin, telling)) >= len(telling)


@lru_cache(maxsize=4096)
def _is_latin(character: str) -> bool:
    return character.isascii() or unicodedata.name(character, "").startswith("LATIN ")
