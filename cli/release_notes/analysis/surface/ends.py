"""Files at both ends of a range, within a read budget, and the authors of differences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cli.release_notes.analysis.entries import Entry
from cli.release_notes.git.objects import CommitObject, Oid, Repository
from cli.release_notes.git.trees import FileChange, blob_at, size, text_of

MOST_BYTES = 12_000_000
"""Bytes parsed of each end."""
MOST_LOOKED_INTO = 2_000
_MOST_CUT, _MOST_KEPT = 20, 200
MOST_NAMED = 3


@dataclass(slots=True)
class Tree:
    repository: Repository
    commit: CommitObject
    left: int = MOST_BYTES
    skipped: int = 0
    _texts: dict[str, str | None] = field(default_factory=dict)

    def read(self, path: str) -> str | None:
        """Return the text of a file; None if it is missing, binary, too big or over the budget."""
        if path not in self._texts:
            blob = blob_at(self.repository, self.commit, path)
            if blob is not None and size(self.repository, blob) > self.left:
                self.skipped += 1
                blob = None
            text = text_of(self.repository, blob)
            self.left -= len(text or "")
            self._texts[path] = text
        return self._texts[path]


@dataclass(slots=True)
class Authors:
    """Finds the commits behind a difference."""

    repository: Repository
    head: str
    by_path: dict[str, list[Entry]]
    cut: list[Entry]
    left: int = MOST_LOOKED_INTO
    _blobs: dict[tuple[str, str], Oid | None] = field(default_factory=dict)
    _texts: dict[Oid, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, repository: Repository, head: str, entries: Sequence[Entry]) -> "Authors":
        """Index the commits of a range, newest first, by path."""
        by_path: dict[str, list[Entry]] = {}
        for entry in entries:
            for path in entry.touched.paths:
                by_path.setdefault(path, []).append(entry)
        cut = [entry for entry in entries if entry.touched.count > len(entry.touched.paths)]
        return cls(repository, head, by_path, cut)

    def behind(self, paths: Iterable[str | None], token: str | None = None) -> tuple[str, ...]:
        """Return the commits behind a change of these files, newest first; never none.

        Prefers commits that changed the token's frequency; falls back to the newest commit of the range.
        """
        wanted = dict.fromkeys(path for path in paths if path)
        touching = list({entry.sha: (entry, path) for path in wanted for entry in self.by_path.get(path, ())}.values())
        if not touching:
            found = [entry.sha for entry in self.cut[:_MOST_CUT] if any(self._changed(entry, path) for path in wanted)]
            return tuple(found[:MOST_NAMED]) or (self.head,)
        if len(touching) > 1 and token:
            exact = [entry.sha for entry, path in touching[:60] if self._differs(entry, path, token.encode())]
            if exact:
                return tuple(exact[:MOST_NAMED])
        return tuple(entry.sha for entry, _ in touching[:MOST_NAMED])

    def _changed(self, entry: Entry, path: str) -> bool:
        shas = (entry.sha, *entry.commit.parents[:1])
        commits = [self.repository.get(sha) for sha in shas]
        blobs = [
            blob_at(self.repository, commit, path) if isinstance(commit, CommitObject) else None for commit in commits
        ]
        return len(set(blobs)) > 1 or (len(blobs) == 1 and blobs[0] is not None)

    def _differs(self, entry: Entry, path: str, token: bytes) -> bool:
        before = self._blob(entry.commit.parents[0], path) if entry.commit.parents else None
        after = self._blob(entry.sha, path)
        return before != after and self._text(before).count(token) != self._text(after).count(token)

    def _blob(self, sha: str, path: str) -> Oid | None:
        key = (sha, path)
        if key not in self._blobs:
            commit = self.repository.get(sha)
            self._blobs[key] = blob_at(self.repository, commit, path) if isinstance(commit, CommitObject) else None
        return self._blobs[key]

    def _text(self, blob: Oid | None) -> bytes:
        if blob is None:
            return b""
        if blob not in self._texts:
            if self.left <= 0:
                return b""
            self.left -= 1
            if len(self._texts) >= _MOST_KEPT:
                del self._texts[next(iter(self._texts))]
            self._texts[blob] = (text_of(self.repository, blob) or "").encode("utf-8", "replace")
        return self._texts[blob]


def worth_reading(files: Sequence[FileChange]) -> list[FileChange]:
    """Order files by their chance of defining an interface."""
    return sorted(files, key=lambda file: (not file.path.endswith("__init__.py"), file.path.count("/"), file.path))
