"""A generated repository with a long history: growing code, merged branches, many authors."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

BEGINNING, END = "v1.0.0", "v2.0.0"
_PACKAGES, _MODULES = 20, 15
_VERBS = ("Add", "Fix", "Improve", "Remove", "feat(store): add", "fix: handle", "Support", "Speed up", "docs: explain")
_THINGS = ("retries", "the cache", "`--limit`", "streaming", "empty input", "a backend", "Python 3.9", "timeouts")
_BIG = 4_000_000


@dataclass(slots=True)
class _Growing:
    repository: pygit2.Repository
    chance: random.Random
    index: pygit2.Index = field(default_factory=pygit2.Index)
    texts: dict[str, list[str]] = field(default_factory=dict)
    at: int = 1_700_000_000

    def change(self, path: str, text: str) -> None:
        self.index.add(pygit2.IndexEntry(path, self.repository.create_blob(text.encode()), FileMode.BLOB))

    def edit(self, path: str, number: int) -> None:
        lines = self.texts.setdefault(path, ['"""A module."""', ""])
        lines += [
            f"def step_{number}(value: int, *, limit: int = {number}) -> int:",
            f"    return value + {number}",
            "",
        ]
        if len(lines) > 240:
            del lines[2:62]
        self.change(path, "\n".join(lines))

    def commit(self, message: str, parents: Sequence[pygit2.Oid]) -> pygit2.Oid:
        self.at += 600
        name = f"Person {self.chance.randrange(60)}"
        author = pygit2.Signature(name, f"{name.replace(' ', '.').lower()}@example.org", self.at, 120)
        tree = self.index.write_tree(self.repository)
        return self.repository.create_commit(None, author, author, message, tree, list(parents))


def long_history(folder: Path, commits: int) -> pygit2.Repository:
    """Make a bare repository with this many commits between two tags; deterministic."""
    growing = _Growing(pygit2.init_repository(str(folder), bare=True), random.Random(commits))  # noqa: S311 - the same on every run
    paths = [f"src/tool/part{one}/module{other}.py" for one in range(_PACKAGES) for other in range(_MODULES)]
    for number, path in enumerate(paths):
        growing.edit(path, number)
    for one in range(_PACKAGES):
        growing.change(f"src/tool/part{one}/__init__.py", "")
    growing.change("src/tool/__init__.py", "")
    growing.change("pyproject.toml", '[project]\nname = "tool"\nversion = "1.0.0"\ndependencies = ["httpx>=1"]\n')
    head = growing.commit("Begin", [])
    growing.repository.create_reference(f"refs/tags/{BEGINNING}", head)
    side: pygit2.Oid | None = None
    for number in range(commits - 1):
        if side is not None and number % 25 == 20:
            title = f"Merge pull request #{number} from someone/branch\n\n{_message(growing.chance, number)}"
            head, side = growing.commit(title, [head, side]), None
            continue
        _edit(growing, paths, number)
        parent = side or head if number % 25 > 10 else head
        made = growing.commit(_message(growing.chance, number), [parent])
        head, side = (head, made) if number % 25 in range(11, 20) else (made, side)
    head = growing.commit("Release 2.0.0", [head, side] if side is not None else [head])
    growing.repository.create_reference("refs/heads/main", head)
    growing.repository.create_reference(f"refs/tags/{END}", head)
    return growing.repository


def _edit(growing: _Growing, paths: Sequence[str], number: int) -> None:
    for path in growing.chance.sample(paths, growing.chance.randint(1, 4)):
        growing.edit(path, number)
    if number % 10 == 0:
        growing.change("CHANGELOG.md", f"# Changes\n\n## Unreleased\n\n- Number {number}\n")
    if number % 40 == 0:
        growing.change(
            "pyproject.toml", f'[project]\nname = "tool"\nversion = "2.0.0"\ndependencies = ["httpx>={number}"]\n'
        )
    if number == 60:
        growing.change("assets/data.bin", "\0" * _BIG)


def _message(chance: random.Random, number: int) -> str:
    subject = f"{chance.choice(_VERBS)} {chance.choice(_THINGS)} in part {number % _PACKAGES} (#{number})"
    body = " ".join(chance.choices(("this", "change", "makes", "calls", "safe", "when", "input", "is", "late"), k=40))
    other = f"Person {number % 60} <person.{number % 60}@example.org>"
    return f"{subject}\n\n{body}\n\nFixes #{number}\nCo-authored-by: {other}\n"
