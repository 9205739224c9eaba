"""Word lists, written as they are read."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, parted by white space."""
    return frozenset(text.split())
