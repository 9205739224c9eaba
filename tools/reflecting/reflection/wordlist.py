"""Word lists."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())
