"""Reads a project's log, and says which commits and files become records and how they are related."""

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from evals.logs import oldest_first, project_of
from tools.entity_models import NAME_LIMIT, EntityFields

SHARED_BY = 2
"""Commits that touch a file before it becomes a record."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a log says of one."""

    sha: str
    day: date
    subject: str
    body: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """Commits, the oldest first."""

    name: str
    commits: tuple[Commit, ...]

    @property
    def files(self) -> dict[str, list[Commit]]:
        """The files that become records, with the commits that touch them."""
        touched = Counter(path for commit in self.commits for path in commit.files)
        found: dict[str, list[Commit]] = {path: [] for path, count in touched.items() if count >= SHARED_BY}
        for commit in self.commits:
            for path in commit.files:
                if path in found:
                    found[path].append(commit)
        return found

    @property
    def days(self) -> list[tuple[int, list[Commit]]]:
        """Commits by how many days ago they were made, the oldest day first; the newest commit is of yesterday."""
        newest = max(commit.day for commit in self.commits)
        days: dict[int, list[Commit]] = {}
        for commit in self.commits:
            days.setdefault((newest - commit.day).days + 1, []).append(commit)
        return sorted(days.items(), reverse=True)


def read_project(log: Path) -> Project:
    """Read a log.

    Raises:
        ValueError: It is empty, or a commit in it could not be kept; torn files raise what `UNREADABLE` names.
    """
    project = Project(project_of(log), tuple(map(_commit, oldest_first(log))))
    if not project.commits:
        raise ValueError("it holds no commit")
    for commit in project.commits:
        as_note(commit, ())
    for path in project.files:
        as_artifact(path)
    return project


def as_note(commit: Commit, files: Container[str]) -> EntityFields:
    """A commit becomes a note of its subject alone: its body is what is asked from."""
    links = [f"touches:{path}" for path in commit.files if path in files]
    return EntityFields(name=commit.subject[:NAME_LIMIT], entity_type="note", related_to=links)


def as_artifact(path: str) -> EntityFields:
    """A file becomes a record of its path."""
    return EntityFields(name=path[-NAME_LIMIT:], entity_type="artifact")


def _commit(row: dict[str, Any]) -> Commit:
    texts = [row[name] for name in ("sha", "date", "subject", "body")]
    if not all(isinstance(text, str) for text in (*texts, *row["files"])):
        raise TypeError(f"a commit has something else than texts: {str(texts)[:200]}")
    sha, day, subject, body = texts
    return Commit(sha, date.fromisoformat(day), subject.strip() or sha, body, tuple(dict.fromkeys(row["files"])))
