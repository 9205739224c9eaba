"""Case folding, the same for stored texts and questions."""

import re
import unicodedata

# What a dotted capital I folds to, and nobody types.
_DOTTED_I = "i\u0307"
_ACCENTS = re.compile("[\u0300-\u036f]+")
_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe"})


def comparable(text: str) -> str:
    """Fold the case of a text. Idempotent.

    Tells less apart than `encoding.fold`, by which keys and addresses are compared.
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold()).replace(_DOTTED_I, "i")


def without_accents(text: str) -> str:
    """Return a lower-case text without accents and ligatures; its length may change."""
    if text.isascii():
        return text
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", text.translate(_LIGATURES)))
