"""Builds real repositories, commit by commit, as odd as they come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import FileMode, ObjectType

from cli.release_notes.analysis.analyse import analyse
from cli.release_notes.facts import FactsRequest, ReleaseFacts

Files = Mapping[str | bytes, str | bytes | None]
ANN, BOB = ("Ann", "ann@example.org"), ("Bob McBride", "bob@example.org")


@dataclass(slots=True)
class Built:
    repository: pygit2.Repository
    head: pygit2.Oid | None = None
    at: int = 1_750_000_000
    files: dict[bytes, tuple[pygit2.Oid, int]] = field(default_factory=dict)

    @classmethod
    def new(cls, folder: Path) -> "Built":
        return cls(pygit2.init_repository(str(folder), bare=True, initial_head="main"))

    @property
    def folder(self) -> Path:
        return Path(self.repository.path)

    def commit(
        self,
        message: str | bytes,
        files: Files | None = None,
        *,
        author: tuple[str, str] = ANN,
        parents: Sequence[str] | None = None,
        keep: bool = True,
    ) -> str:
        for name, content in (files or {f"file-{self.at}.py": f"x = {self.at}\n"}).items():
            self.put(name, content)
        self.at += 60
        raw = message.encode() if isinstance(message, str) else message
        above = parents if parents is not None else ([str(self.head)] if self.head else [])
        lines = [f"tree {self._tree()}", *(f"parent {parent}" for parent in above)]
        who = f"{author[0]} <{author[1]}> {self.at} +0200"
        head = "\n".join([*lines, f"author {who}", f"committer {who}", "", ""]).encode("utf-8", "surrogateescape")
        made = self.repository.odb.write(ObjectType.COMMIT, head + raw)
        if keep:
            self.head = made
            self.repository.references.create("refs/heads/main", made, force=True)
        return str(made)

    def put(self, name: str | bytes, content: str | bytes | None, mode: int = FileMode.BLOB) -> None:
        raw = name.encode() if isinstance(name, str) else name
        if content is None:
            self.files.pop(raw, None)
            return
        data = content.encode() if isinstance(content, str) else content
        self.files[raw] = (self.repository.create_blob(data), mode)

    def link(self, name: str, commit: str) -> None:
        self.files[name.encode()] = (pygit2.Oid(hex=commit), FileMode.COMMIT)

    def tag(self, name: str, target: str | None = None, message: str | None = None) -> None:
        oid = pygit2.Oid(hex=target) if target else self.head
        assert oid is not None
        if message is None:
            self.repository.references.create(f"refs/tags/{name}", oid)
        else:
            tagger = pygit2.Signature("Ann", "ann@example.org", self.at + 3600, 0)
            self.repository.create_tag(name, oid, ObjectType.COMMIT, tagger, message)

    def _tree(self, entries: Mapping[bytes, tuple[pygit2.Oid, int]] | None = None) -> pygit2.Oid:
        folders: dict[bytes, dict[bytes, tuple[pygit2.Oid, int]]] = {}
        rows: list[tuple[bytes, pygit2.Oid, int]] = []
        for name, entry in (self.files if entries is None else entries).items():
            top, slash, rest = name.partition(b"/")
            if slash:
                folders.setdefault(top, {})[rest] = entry
            else:
                rows.append((name, *entry))
        rows += [(name, self._tree(inner), int(FileMode.TREE)) for name, inner in folders.items()]
        rows.sort(key=lambda row: row[0] + (b"/" if row[2] == FileMode.TREE else b""))
        data = b"".join(b"%o %s\0" % (mode, name) + oid.raw for name, oid, mode in rows)
        return self.repository.odb.write(ObjectType.TREE, data)

    def facts(self, *ends: str, **more: Any) -> ReleaseFacts:
        return facts(self.folder, *ends, **more)


def facts(
    folder: Path, older: str = "v1", newer: str = "HEAD", version: str | None = None, *, interfaces: bool = False
) -> ReleaseFacts:
    return analyse(FactsRequest(folder, None, older, newer, version, interfaces), lambda *_: None)


def begun(folder: Path, files: Files | None = None) -> Built:
    built = Built.new(folder)
    built.commit("Begin", files or {"README.md": "# Tool\n"})
    built.tag("v1")
    return built
