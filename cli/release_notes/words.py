"""Small words of the notes: lists, counts, sentences."""

import re
from collections.abc import Sequence

_LOWER = frozenset(("npm", "pnpm", "yarn", "pip", "git", "curl", "ssh", "http", "json", "yaml", "css", "html", "gcc"))
"""Names that begin no sentence in upper case."""


def joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def capitalised(text: str) -> str:
    """Capitalise, unless the first word is code or has capitals."""
    word = text.split(" ", 1)[0].rstrip(",:;")
    return (
        text[:1].upper() + text[1:]
        if word.replace("n't", "").isalpha() and word.islower() and word not in _LOWER
        else text
    )


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", ":")) else f"{text}."


def bare(text: str) -> str:
    return text[:-1].rstrip() if text.endswith(".") and not text.endswith("..") else text
