"""Word lists, written as they are read."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text, parted by white space."""
    return frozenset(text.split())
