"""Replay a project's log into a temporary repository."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import FileMode

from evals.logs import oldest_first
from evals.release_notes.labels import LENGTH

BEGINNING, END = "beginning", "end"
_SHA = re.compile(r"\b[0-9a-f]{40}\b")


@dataclass(frozen=True, slots=True)
class Replay:
    """A repository, and the original shas by those of the copies."""

    folder: Path
    originals: dict[str, str]


def replay(log: Path, folder: Path) -> Replay:
    """Commit a log, oldest first, each commit once.

    Contents are numbers, as logs have none; shas in messages become those of the copies.
    """
    repository = pygit2.init_repository(str(folder), bare=True)
    index = pygit2.Index()
    rows = oldest_first(log)
    head = _commit(repository, index, {"date": rows[0]["date"], "subject": "Begin", "body": ""}, [])
    repository.create_reference(f"refs/tags/{BEGINNING}", head)
    copies: dict[str, str] = {}
    for number, row in enumerate(rows):
        blob = repository.create_blob(f"{number}\n".encode())
        for path in row["files"]:
            index.add(pygit2.IndexEntry(path, blob, FileMode.BLOB))
        row = {**row, "body": _SHA.sub(lambda match: copies.get(match[0], match[0]), row["body"])}
        head = _commit(repository, index, row, [head])
        copies[row["sha"]] = str(head)
    repository.create_reference("refs/heads/main", head)
    repository.create_reference(f"refs/tags/{END}", head)
    return Replay(folder, {copy: original[:LENGTH] for original, copy in copies.items()})


def _commit(
    repository: pygit2.Repository, index: pygit2.Index, row: dict[str, Any], parents: Sequence[pygit2.Oid]
) -> pygit2.Oid:
    at = datetime.fromisoformat(row["date"]).replace(tzinfo=UTC)
    author = pygit2.Signature("Somebody", "somebody@example.org", int(at.timestamp()), 0)
    message = f"{row['subject']}\n\n{row['body']}".strip() + "\n"
    tree = index.write_tree(repository)
    return repository.create_commit(None, author, author, message, tree, list(parents))
