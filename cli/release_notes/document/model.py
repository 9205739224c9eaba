"""The document as data, before rendering. Texts are plain and escaped when written."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cli.release_notes.document.links import Web

SectionName = Literal[
    "overview",
    "highlights",
    "new",
    "features",
    "improvements",
    "fixes",
    "other",
    "surface",
    "breaking",
    "migration",
    "installation",
    "known_issues",
    "contributors",
    "changelog",
]


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that the document says about the release, and what it rests on.

    Attributes:
        id: Unique within the document.
        text: One line of plain text.
        commits: Full shas, the one to name first.
        lead: What it is about, set before the text: a scope.
        details: What else is said, in paragraphs; may be empty.
        stands_out: The text is set like a title, and its details follow in the same paragraph.
        is_counted: It was counted and named by the diff, not by messages.
        areas: Parts of the project that it touches, where a preset shows them.
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
    """A paragraph that was counted, or read off a file, rather than off commits. Markdown, made here alone."""

    markdown: str


@dataclass(frozen=True, slots=True)
class Code:
    """A block of commands."""

    text: str
    language: str = "sh"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of Markdown, made here alone.

    Attributes:
        commits: Full shas that each row rests on, in a column of their own; none of a table whose rows were counted.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    commits: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    text: str


Block = Statement | Note | Code | Table | Heading


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the document.

    Attributes:
        empty: The line that stands here when there is nothing to say.
        level: 2, or 3 for a part of the section before.
    """

    name: SectionName
    heading: str
    blocks: tuple[Block, ...] = ()
    empty: str = ""
    level: int = 2

    def statements(self) -> Iterator[Statement]:
        """Its statements, in order."""
        return (block for block in self.blocks if isinstance(block, Statement))


@dataclass(frozen=True, slots=True)
class Document:
    """The notes of a release. `version` is part of the title; `web` is where commits can be read, if anywhere."""

    title: str
    version: str
    released_at: datetime
    sections: tuple[Section, ...]
    web: Web

    def statements(self) -> Iterator[Statement]:
        """Every statement, in order."""
        return (statement for section in self.sections for statement in section.statements())
