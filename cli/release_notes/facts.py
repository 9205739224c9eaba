"""Facts of a release. Texts are untrusted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

ChangeKind = Literal[
    "feature", "improvement", "fix", "performance", "security", "deprecation", "removal", "documentation", "dependency",
    "internal", "other",
]  # fmt: skip
Progress = Callable[..., None]
"""`progress(step)` or `progress(step, detail)`."""


class ReleaseNotesFailed(Exception):
    """A sentence for the user; exit code 1. Every function here that reads a repository or a file may raise it."""


@dataclass(frozen=True, slots=True)
class FactsRequest:
    repository: Path | None
    url: str | None
    from_ref: str
    to_ref: str
    version_name: str | None
    interfaces: bool = False
    """Also compare the signatures of public functions."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of the range; `at` is the date of its annotated tag, else of its commit."""

    ref: str
    sha: str
    tag: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    email: str
    is_bot: bool


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    parents: tuple[str, ...]
    author: Person
    co_authors: tuple[Person, ...]
    committed_at: datetime
    subject: str
    body: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A change and its commits.

    Attributes:
        text: One line without prefix and pull request number.
        commits: Full shas, the main one first.
        breaking_note: The author's description; None if nothing breaks or it is only marked.
        migration: The author's steps for upgrading.
        pull_request, issues: `#12`; the issues are those that it closes.
        own: In the words of the project's changelog.
        more: A second sentence by a language model.
        conventional, declared: The author chose the kind; called it breaking.
        noise: About the release, tests, tools or tidying.
    """

    kind: ChangeKind
    scope: str | None
    text: str
    details: str = ""
    commits: tuple[str, ...] = ()
    breaking: bool = False
    breaking_note: str | None = None
    migration: str | None = None
    pull_request: str | None = None
    issues: tuple[str, ...] = ()
    own: bool = False
    more: str = ""
    conventional: bool = False
    declared: bool = False
    noise: bool = False
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """One way to install the project.

    Attributes:
        name: As in the package index; empty for a workspace alone.
        needs: Platform and version: `Python >=3.11`.
        members: Folders of a workspace, which may end with `*`.
        runner: Package manager: `pnpm`, `yarn` or `npm`.
    """

    path: str
    tool: str
    name: str
    version: str | None = None
    needs: str | None = None
    is_published: bool = True
    is_program: bool = False
    members: tuple[str, ...] = ()
    runner: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """Everything that a document may state.

    Attributes:
        commits: By full sha, newest first.
        changes: The project's own words in their order, then the best first; without reverted ones.
        steps: Steps for upgrading from the changelog.
        contributors: People and their number of commits.
        remarks: Sentences about cut or skipped parts.
    """

    version: str
    older: End
    newer: End
    commits: Mapping[str, Commit] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    steps: tuple[Change, ...] = ()
    known_issues: tuple[Change, ...] = ()
    contributors: tuple[tuple[Person, int], ...] = ()
    project_name: str | None = None
    manifests: tuple[Manifest, ...] = ()
    remote_url: str | None = None
    remarks: tuple[str, ...] = ()
