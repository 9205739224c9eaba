"""The document before rendering, its links and small words. Texts are plain; rendering escapes them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import quote, urlsplit

from cli.release_notes.facts import ReleaseFacts
from cli.release_notes.git.address import host_of
from tools.text.inline import code, inert

SHORT = 7
_LOWER = frozenset(
    ("npm", "pnpm", "yarn", "pip", "git", "curl", "ssh", "http", "json", "yaml", "css", "html", "gcc", "systemd")
)
"""Names that begin no sentence in upper case."""


@dataclass(frozen=True, slots=True)
class Web:
    """Links below `base`, the project's address without a final slash; `short` is the length of an unambiguous sha."""

    base: str | None = None
    commit_path: str = ""
    pull_request_path: str = ""
    issue_path: str = ""
    short: int = SHORT

    @classmethod
    def of(cls, remote_url: str | None, shas: Iterable[str]) -> "Web":
        short = _short_length(shas)
        base = _safe(remote_url)
        host = host_of(base)
        return cls(base, host.commit, host.pull_request, host.issue, short) if base and host else cls(short=short)

    def commit(self, sha: str) -> str:
        label = code(sha[: self.short])
        return link(label, f"{self.base}{self.commit_path.format(sha)}") if self.base else label

    def pull_request(self, number: str) -> str:
        return self._numbered(number, self.pull_request_path)

    def issue(self, number: str) -> str:
        return self._numbered(number, self.issue_path)

    def _numbered(self, number: str, path: str) -> str:
        digits = number.lstrip("#!")
        if not digits.isascii() or not digits.isdigit():
            return inert(number)
        return link(f"#{digits}", f"{self.base}{path.format(digits)}") if self.base and path else f"#{digits}"


def span_of(facts: ReleaseFacts) -> str:
    """Cite the range as Markdown: `1a2b3c4..5d6e7f8`."""
    short = _short_length(facts.commits)
    return link(code(f"{facts.from_sha[:short]}..{facts.to_sha[:short]}"), facts.compare_url or "")


def shortened(ref: str) -> str:
    return ref[:SHORT] if re.fullmatch(r"[0-9a-f]{40}", ref, re.IGNORECASE) else ref


def link(label: str, address: str) -> str:
    """Return a Markdown link, or only the label if the address is unsafe."""
    safe = _safe(address)
    return f"[{label}]({safe})" if safe else label


def _safe(address: str | None) -> str | None:
    if not address or not address.isprintable():
        return None
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.password:
        return None
    return quote(address, safe="/:?#&=%@+~,;.-_!$*'").rstrip("/")


def _short_length(shas: Iterable[str]) -> int:
    known = list(shas)
    return next((n for n in range(SHORT, 40) if len({sha[:n] for sha in known}) == len(known)), 40)


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
