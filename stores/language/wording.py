"""Words as searches compare them: one function, so that what is stored and what is asked for are folded alike."""

import unicodedata

# What a dotted capital I folds to, and nobody types.
_DOTTED_I = "i\u0307"


def comparable(text: str) -> str:
    """Return the text without case, so that words which readers take for the same are; doing it twice changes nothing.

    It tells less apart than `encoding.fold`, by which keys and addresses are compared.
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold()).replace(_DOTTED_I, "i")
