"""Case and accent folding, shared by indexing and search."""

import re
import unicodedata

# The case folding of a dotted capital I, which nobody types.
_DOTTED_I = "i\u0307"
_ACCENTS = re.compile("[\u0300-\u036f]+")
_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe"})


def comparable(text: str) -> str:
    """Fold case. Idempotent. Folds more than `encoding.fold`."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold()).replace(_DOTTED_I, "i")


def without_accents(text: str) -> str:
    """Remove accents and ligatures from a lower-case text."""
    if text.isascii():
        return text
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", text.translate(_LIGATURES)))
