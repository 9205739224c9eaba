"""Facts of a release. Texts are untrusted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

ChangeKind = Literal[
    "feature",
    "improvement",
    "fix",
    "performance",
    "security",
    "deprecation",
    "removal",
    "documentation",
    "dependency",
    "internal",
    "other",
]
SurfaceKind = Literal["migration", "moved"]
SurfaceEvent = Literal["added", "removed", "changed", "renamed"]

Progress = Callable[..., None]
"""`progress(step)` or `progress(step, detail)`."""


@dataclass(frozen=True, slots=True)
class FactsRequest:
    repository: Path | None
    url: str | None
    from_ref: str
    to_ref: str
    version_name: str | None


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    email: str
    is_bot: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the range; `body` is without trailers."""

    sha: str
    parents: tuple[str, ...]
    author: Person
    co_authors: tuple[Person, ...]
    committed_at: datetime
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A change and its commits.

    Attributes:
        text: One line without prefix and pull request number.
        details: Further paragraphs.
        commits: Full shas, never empty, the main one first.
        breaking_note: The author's description; None if nothing breaks or it is only marked.
        migration: The author's instructions.
        pull_request: `#12`.
        impact: 0 to 1; the order of `ReleaseFacts.changes`.
    """

    kind: ChangeKind
    scope: str | None
    text: str
    details: str
    commits: tuple[str, ...]
    breaking: bool = False
    breaking_note: str | None = None
    migration: str | None = None
    pull_request: str | None = None
    issues: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    impact: float = 0.0
    people: tuple[Person, ...] = ()


@dataclass(frozen=True, slots=True)
class SurfaceChange:
    """A user-visible file changed by the range; `before` is its earlier path, None if it was added."""

    kind: SurfaceKind
    change: SurfaceEvent
    name: str
    path: str
    before: str | None
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DependencyChange:
    """A changed dependency; `before` is None if added, `after` if removed."""

    name: str
    ecosystem: str
    path: str
    before: str | None
    after: str | None
    development: bool
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Area:
    """A folder and its share of the diff."""

    name: str
    commits: int
    files: int
    insertions: int
    deletions: int


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A manifest at `to`."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Contributor:
    """A person with their commits in the range; new without commits reachable from `from`."""

    person: Person
    commits: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """Everything that a document may state.

    Attributes:
        released_at: Date of the annotated tag of `to`, else of its commit.
        commits: By full sha, newest first.
        changes: Best first, without reverted ones.
        reverted: Made and reverted within the range.
        remote_url: https, without credentials.
        known_issues: Named as unresolved by messages or changelog.
        remarks: Sentences about cut or skipped parts.
    """

    version: str
    released_at: datetime
    from_ref: str
    to_ref: str
    from_sha: str
    to_sha: str
    commits: Mapping[str, Commit] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    reverted: tuple[Change, ...] = ()
    surface: tuple[SurfaceChange, ...] = ()
    dependencies: tuple[DependencyChange, ...] = ()
    areas: tuple[Area, ...] = ()
    contributors: tuple[Contributor, ...] = ()
    bots: tuple[Contributor, ...] = ()
    project_name: str | None = None
    project_files: tuple[ProjectFile, ...] = ()
    remote_url: str | None = None
    compare_url: str | None = None
    known_issues: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
