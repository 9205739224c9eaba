"""Whether a text is written in Latin letters, which is what the models that ship with the package have read."""

import unicodedata
from functools import lru_cache

_READ_CHARACTERS = 2_000


def is_latin(text: str) -> bool:
    """Tell whether half or more of the letters and digits of a text are Latin letters, of any accent, or 0 to 9.

    A text without letters and digits (emoji, punctuation) is not. Its first 2,000 characters count.
    """
    if text.isascii():
        return any(map(str.isalnum, text))
    telling = [each for each in text[:_READ_CHARACTERS] if each.isalnum()]
    return bool(telling) and 2 * sum(map(_is_latin, telling)) >= len(telling)


@lru_cache(maxsize=4096)
def _is_latin(character: str) -> bool:
    return character.isascii() or unicodedata.name(character, "").startswith("LATIN ")
