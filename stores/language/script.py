"""Detection of Latin script, the only one of the shipped models."""

import unicodedata
from functools import lru_cache

_READ_CHARACTERS = 2_000


def is_latin(text: str) -> bool:
    """Return whether half of the letters and digits in the first 2,000 characters are Latin; False without any."""
    if text.isascii():
        return any(map(str.isalnum, text))
    telling = [each for each in text[:_READ_CHARACTERS] if each.isalnum()]
    return bool(telling) and 2 * sum(map(_is_latin, telling)) >= len(telling)


@lru_cache(maxsize=4096)
def _is_latin(character: str) -> bool:
    return character.isascii() or unicodedata.name(character, "").startswith("LATIN ")
