"""Authors of commits, resolved by `.mailmap` (gitmailmap(5))."""

import re
from collections.abc import Iterator
from pathlib import Path

import pygit2

from cli.release_notes.git.text import decoded
from cli.release_notes.git.trees import BIGGEST_BLOB, blob_at, text_of

MAILMAP = ".mailmap"
_LINE = re.compile(r"^(?P<name>[^<#]*)<(?P<email>[^<>]*)>\s*(?:(?P<old_name>[^<]*)<(?P<old_email>[^<>]*)>)?")


class Names:
    def __init__(self, repository: pygit2.Repository, newer: pygit2.Commit) -> None:
        self._proper: dict[tuple[str | None, str], tuple[str, str]] = {}
        self._known: dict[tuple[str, str], tuple[str, str]] = {}
        for text in _mailmaps(repository, newer):
            self._read(text)

    def of(self, signature: pygit2.Signature) -> tuple[str, str]:
        return self.resolve(decoded(signature.raw_name), decoded(signature.raw_email))

    def resolve(self, name: str, email: str) -> tuple[str, str]:
        key = (name, email)
        if key not in self._known:
            low = email.strip().lower()
            proper = self._proper.get((name.strip().lower(), low)) or self._proper.get((None, low)) or ("", "")
            address = proper[1] or email.strip()
            self._known[key] = (proper[0] or name.strip() or address, address)
        return self._known[key]

    def _read(self, text: str) -> None:
        for line in text.splitlines():
            match = _LINE.match(line.strip())
            if match is None:
                continue
            name, email = match["name"].strip(), match["email"].strip()
            if match["old_email"] is None:
                self._proper[None, email.lower()] = (name, email)
            else:
                old_name = (match["old_name"] or "").strip().lower() or None
                self._proper[old_name, match["old_email"].strip().lower()] = (name, email)


def _mailmaps(repository: pygit2.Repository, newer: pygit2.Commit) -> Iterator[str]:
    yield text_of(repository, blob_at(repository, newer, MAILMAP)) or ""
    if repository.workdir:
        yield _file(Path(repository.workdir) / MAILMAP)
    elif not repository.head_is_unborn:
        yield text_of(repository, blob_at(repository, repository.head.peel(pygit2.Commit), MAILMAP)) or ""
    try:
        yield _file(Path(repository.config["mailmap.file"] or "").expanduser())
    except (KeyError, pygit2.GitError, ValueError, RuntimeError):
        return


def _file(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > BIGGEST_BLOB:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
