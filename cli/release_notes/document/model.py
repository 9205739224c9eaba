"""The document before rendering, its links and small words. Texts are plain; rendering escapes them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cli.release_notes.web import SHORT, Web

_LOWER = frozenset(
    ("npm", "pnpm", "yarn", "pip", "git", "curl", "ssh", "http", "json", "yaml", "css", "html", "gcc", "systemd")
)
"""Names that begin no sentence in upper case."""


def shortened(ref: str) -> str:
    return ref[:SHORT] if re.fullmatch(r"[0-9a-f]{40}", ref, re.IGNORECASE) else ref


def joined(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 fix`, `1,204 fixes`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def capitalised(text: str) -> str:
    """Capitalise, unless the first word is code or has capitals."""
    word = text.split(" ", 1)[0].rstrip(",:;")
    return text[:1].upper() + text[1:] if word.isalpha() and word.islower() and word not in _LOWER else text


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", ":")) else f"{text}."


def bare(text: str) -> str:
    """Strip the full stop of a single sentence."""
    return text[:-1].rstrip() if text.endswith(".") and not text.endswith("..") else text


SectionName = Literal[
    "overview", "highlights", "new", "features", "improvements", "fixes", "other", "breaking", "migration",
    "installation", "known_issues", "contributors", "changelog",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and its commits.

    Attributes:
        id: Unique within the document.
        commits: Full shas, the one to cite first.
        lead: Scope, set before the text.
        details: Further paragraphs.
        stands_out: Rendered like a title.
    """

    id: str
    text: str
    commits: tuple[str, ...]
    lead: str = ""
    details: str = ""
    pull_request: str | None = None
    issues: tuple[str, ...] = ()
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A trusted Markdown paragraph without commits."""

    markdown: str


@dataclass(frozen=True, slots=True)
class Code:
    text: str
    language: str = "sh"


Block = Statement | Note | Code


@dataclass(frozen=True, slots=True)
class Section:
    """A section; `empty` stands for missing statements, `level` is 2 or 3."""

    name: SectionName
    heading: str
    blocks: tuple[Block, ...] = ()
    empty: str = ""
    level: int = 2

    def statements(self) -> Iterator[Statement]:
        return (block for block in self.blocks if isinstance(block, Statement))


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    version: str
    released_at: datetime
    sections: tuple[Section, ...]
    web: Web

    def statements(self) -> Iterator[Statement]:
        return (statement for section in self.sections for statement in section.statements())
