"""Objects of a repository: decoded texts, people by `.mailmap` (gitmailmap(5)), touched paths, contents."""

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

import pygit2
from pygit2 import Commit as CommitObject
from pygit2 import GitError, Oid, Repository
from pygit2.enums import DeltaStatus, DiffOption, FileMode

__all__ = [
    "CommitObject",
    "GitError",
    "Names",
    "Oid",
    "Repository",
    "blob_at",
    "changed_paths",
    "decoded",
    "names_at",
    "text_of",
    "touched",
]

MOST_PATHS = 400
BIGGEST_BLOB = 1_000_000
"""Bytes; bigger files are skipped."""
_STATUS = {DeltaStatus.ADDED: "added", DeltaStatus.DELETED: "removed"}
_PLAIN = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE)


def decoded(raw: bytes, declared: str | None = None) -> str:
    """Decode a message or name, with line feeds and without NUL: UTF-8, the declared encoding, else Windows-1252."""
    for encoding in ("utf-8", declared or "cp1252"):
        try:
            text = raw.decode(encoding)
            break
        except (UnicodeDecodeError, LookupError, ValueError):
            continue
    else:
        text = raw.decode("cp1252", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def decoded_path(raw: bytes) -> str:
    """Decode a path. Different paths may look the same; newlines stay."""
    return raw.decode("utf-8", errors="replace")


class Names:
    def __init__(self, repository: pygit2.Repository) -> None:
        mailmap = _mailmap(repository)
        self.resolve = lru_cache(maxsize=100_000)(lambda name, email: _resolved(mailmap, name.strip(), email.strip()))

    def of(self, signature: pygit2.Signature) -> tuple[str, str]:
        return self.resolve(decoded(signature.raw_name), decoded(signature.raw_email))


def _mailmap(repository: pygit2.Repository) -> pygit2.Mailmap:
    try:
        return pygit2.Mailmap.from_repository(repository)
    except (pygit2.GitError, ValueError, KeyError):
        return pygit2.Mailmap()


def _resolved(mailmap: pygit2.Mailmap, name: str, email: str) -> tuple[str, str]:
    with suppress(pygit2.GitError, ValueError, UnicodeError):
        name, email = mailmap.resolve(name, email)
    return name or email, email


def touched(repository: pygit2.Repository, commit: pygit2.Commit) -> tuple[str, ...]:
    """Return the paths that a commit changes, at most `MOST_PATHS`; of a merge none: those are its commits'."""
    try:
        if len(commit.parent_ids) > 1:
            return ()
        if commit.parent_ids:
            parent = repository[commit.parent_ids[0]].peel(pygit2.Commit)
            diff = _diff(repository, parent, commit)
        else:
            diff = commit.tree.diff_to_tree(flags=DiffOption.SKIP_BINARY_CHECK, swap=True)
    except (pygit2.GitError, KeyError):
        # A shallow clone lacks the parent of its oldest commits.
        return ()
    return tuple(path for path, _ in zip(_paths(diff), range(MOST_PATHS), strict=False))


def _diff(repository: pygit2.Repository, older: pygit2.Commit, newer: pygit2.Commit) -> pygit2.Diff:
    return repository.diff(older.tree_id, newer.tree_id, flags=DiffOption.SKIP_BINARY_CHECK, context_lines=0)


def _paths(diff: pygit2.Diff) -> list[str]:
    return [decoded_path(delta.new_file.raw_path) for delta in diff.deltas]


def changed_paths(repository: pygit2.Repository, older: pygit2.Commit, newer: pygit2.Commit) -> dict[str, str]:
    """Return the paths that differ between two commits: `added`, `removed` or `changed`."""
    deltas = _diff(repository, older, newer).deltas
    return {decoded_path(each.new_file.raw_path): _STATUS.get(each.status, "changed") for each in deltas}


def size(repository: pygit2.Repository, blob: pygit2.Oid) -> int:
    try:
        return int(repository.odb.read_header(blob)[1])
    except (pygit2.GitError, KeyError):
        return 0


def text_of(repository: pygit2.Repository, blob: pygit2.Oid | None) -> str | None:
    if blob is None or size(repository, blob) > BIGGEST_BLOB:
        return None
    try:
        data = repository[blob].read_raw()
    except (pygit2.GitError, KeyError):
        return None
    return None if b"\0" in data[:8_000] else data.decode("utf-8", errors="replace")


def blob_at(repository: pygit2.Repository, commit: pygit2.Commit, path: str) -> pygit2.Oid | None:
    """Return the blob id of a plain file; otherwise None."""
    try:
        entry = commit.tree[path]
    except (KeyError, ValueError, pygit2.GitError):
        return None
    return entry.id if entry.filemode in _PLAIN else None


def names_at(commit: pygit2.Commit, folder: str = "", *, folders: bool = False) -> Sequence[str]:
    """Return the names of the plain files in a folder, or of its folders."""
    try:
        tree = commit.tree[folder] if folder else commit.tree
    except (KeyError, ValueError, pygit2.GitError):
        return []
    wanted = (FileMode.TREE,) if folders else _PLAIN
    entries = tree if isinstance(tree, pygit2.Tree) else ()
    return [decoded_path(entry.raw_name) for entry in entries if entry.filemode in wanted and entry.raw_name]
