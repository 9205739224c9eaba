"""The document before rendering. Texts are plain; rendering escapes them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cli.release_notes.document.links import Web

SectionName = Literal[
    "overview", "highlights", "new", "features", "improvements", "fixes", "other", "surface", "breaking", "migration",
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
        is_counted: From the diff, not from messages.
    """

    id: str
    text: str
    commits: tuple[str, ...]
    lead: str = ""
    details: str = ""
    pull_request: str | None = None
    stands_out: bool = False
    is_counted: bool = False
    areas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """A trusted Markdown paragraph without commits."""

    markdown: str


@dataclass(frozen=True, slots=True)
class Code:
    text: str
    language: str = "sh"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of trusted Markdown; `commits` are the shas of each row, rendered as a column."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    commits: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


Block = Statement | Note | Code | Table | Heading


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
