"""Commits and files of a project's log as records and relations."""

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from evals.dated_records import oldest_first, project_of
from tools.records.entity_models import NAME_LIMIT, EntityFields

SHARED_BY = 2
"""Fewest commits of a file that becomes a record."""


@dataclass(frozen=True, slots=True)
class Commit:
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
        """Commits by file."""
        touched = Counter(path for commit in self.commits for path in commit.files)
        found: dict[str, list[Commit]] = {path: [] for path, count in touched.items() if count >= SHARED_BY}
        for commit in self.commits:
            for path in commit.files:
                if path in found:
                    found[path].append(commit)
        return found

    @property
    def days(self) -> list[tuple[int, list[Commit]]]:
        """Commits by age in days, the oldest first; the newest is one day old."""
        newest = max(commit.day for commit in self.commits)
        days: dict[int, list[Commit]] = {}
        for commit in self.commits:
            days.setdefault((newest - commit.day).days + 1, []).append(commit)
        return sorted(days.items(), reverse=True)


def read_project(log: Path) -> Project:
    """Read a log.

    Raises:
        ValueError: It is empty. Torn files raise other errors: see `readable`.
    """
    project = Project(project_of(log), tuple(map(_commit, oldest_first(log))))
    if not project.commits:
        raise ValueError("it holds no commit")
    return project


def as_note(commit: Commit, files: Container[str]) -> EntityFields:
    """Make a note of a commit's subject; questions are made of its body."""
    links = [f"touches:{path}" for path in commit.files if path in files]
    return EntityFields(name=commit.subject[:NAME_LIMIT], entity_type="note", related_to=links)


def as_artifact(path: str) -> EntityFields:
    return EntityFields(name=path[-NAME_LIMIT:], entity_type="artifact")


def _commit(row: dict[str, Any]) -> Commit:
    sha, day, subject, body = (row[name] for name in ("sha", "date", "subject", "body"))
    return Commit(sha, date.fromisoformat(day), subject.strip() or sha, body, tuple(dict.fromkeys(row["files"])))
