"""Facts of a release, read from the repository. Texts are untrusted."""

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
SurfaceKind = Literal["api", "command", "flag", "setting", "migration", "moved"]
SurfaceEvent = Literal["added", "removed", "changed", "renamed"]

Progress = Callable[..., None]
"""`progress(step)` or `progress(step, detail)`: one short line per step, for the spinner and for `--debug`."""


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
    """One commit of the range. `body` is without trailers; texts are decoded, whatever they were written in."""

    sha: str
    parents: tuple[str, ...]
    author: Person
    co_authors: tuple[Person, ...]
    authored_at: datetime
    committed_at: datetime
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changed for somebody, and the commits that say so.

    Attributes:
        text: One line: what changed, without prefix and pull request number.
        details: What else the message says, as paragraphs; may be empty.
        commits: Full shas, never empty; the first is the one to name when there is room for one.
        breaking_note: What the author says breaks. None when nothing breaks, or the author only marked it.
        migration: What the author says one has to do.
        pull_request: `#12`.
        impact: 0 to 1, for users of the project; the order of `ReleaseFacts.changes`.
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
    """Something that users of the project touch, and the diff says has changed.

    Attributes:
        name: `package.module.function(a, b=1)` for an API, `--flag`, `SETTING`, a path for migrations and moved files.
        before: The earlier signature, default or path. None for what was added.
    """

    kind: SurfaceKind
    change: SurfaceEvent
    name: str
    path: str
    before: str | None
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DependencyChange:
    """A dependency as two manifests state it. None before: added; None after: removed."""

    name: str
    ecosystem: str
    path: str
    before: str | None
    after: str | None
    development: bool
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the project, and how much of the range's diff lies in it."""

    name: str
    commits: int
    files: int
    insertions: int
    deletions: int


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A manifest as at `to`; the installation section reads it."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Contributor:
    """A person and the commits they wrote or co-wrote in the range; `is_new`: none reachable from `from`."""

    person: Person
    commits: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """Everything that a document may state.

    Attributes:
        released_at: When `to` was made: the date of its annotated tag, else of its commit. Aware.
        commits: Every commit of the range by full sha, newest first.
        changes: Best first. A change that was reverted within the range is not here.
        reverted: What was made and taken back within the range.
        remote_url: The project's https address, without credentials.
        known_issues: What commit messages or the project's changelog name as known and unresolved.
        remarks: What was cut or skipped, a sentence each, for the reader.
    """

    version: str
    version_is_given: bool
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
