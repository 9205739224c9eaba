from pathlib import Path

import pytest

from tests.cli.release_notes.comparing import Files, compared, told

MANIFESTS = [
    ("pyproject.toml", '[project]\nrequires-python = ">=3.9"\ndependencies = ["A_b>=1", "gone"]\n'
     '[dependency-groups]\ndev = ["t"]\n',
     '[project]\nrequires-python = ">=3.10"\ndependencies = ["a-b[x]>=2; os_name", "new<3"]\n'
     '[dependency-groups]\ndev = ["t>1"]\n',
     [("a-b", ">=1", ">=2"), ("gone", "any", None), ("new", None, "<3"), ("python", ">=3.9", ">=3.10"), ("t", "any",
      ">1")]),
    ("package.json", '{"engines": {"node": ">=16"}, "dependencies": {"a": "^1"}, "devDependencies": {"t": "1"}}',
     '{"engines": {"node": ">=18"}, "dependencies": {"a": "^2"}, "devDependencies": {}}',
     [("a", "^1", "^2"), ("node", ">=16", ">=18"), ("t", "1", None)]),
    ("Cargo.toml", '[dependencies]\na = "1"\n', '[package]\nrust-version = "1.80"\n[dependencies]\n'
     'a = {version = "2"}\n',
     [("a", "1", "2"), ("rust", None, "1.80")]),
    ("go.mod", "module x\ngo 1.21\nrequire (\n\tgithub.com/a/b v1.0.0\n\tgithub.com/c/d v1.0.0 // indirect\n)\n",
     "module x\ngo 1.22\nrequire (\n\tgithub.com/a/b v1.1.0\n\tgithub.com/c/d v1.9.0 // indirect\n)\n",
     [("github.com/a/b", "v1.0.0", "v1.1.0"), ("go", "1.21", "1.22")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"), MANIFESTS, ids=[f"{row[0]}-{len(row[3])}" for row in MANIFESTS]
)
def test_dependencies_are_read_from_manifests(
    tmp_path: Path, path: str, old: str, new: str, expected: list[tuple[str, str | None, str | None]]
) -> None:
    built, _ = compared(tmp_path, {path: old}, {path: new})
    found = built.facts().dependencies
    assert [(one.name, one.before, one.after) for one in found] == expected
    assert all(one.commits == (str(built.head),) for one in found)


@pytest.mark.parametrize(
    "text",
    ["[", '{"dependencies": []}', "[project]\ndependencies = 3\n", "\0", '{"dependencies": {"a": 3}}',
     "[project]\n" * 2],
)  # fmt: skip
@pytest.mark.parametrize("path", ["pyproject.toml", "package.json", "Cargo.toml", "go.mod"])
def test_a_damaged_manifest_states_nothing(tmp_path: Path, path: str, text: str) -> None:
    built, _ = compared(tmp_path, {path: text}, {path: text + " "})
    assert built.facts().dependencies == ()


@pytest.mark.parametrize(
    "path", ["app/migrations/0002_more.py", "db/migrate/20260101_x.rb", "prisma/migrations/2026_x/migration.sql"]
)
def test_migrations_are_known_by_their_place(tmp_path: Path, path: str) -> None:
    files: Files = {path: "x = 1\n", "app/migrations/__init__.py": "", "docs/migrations/x.md": "", "versions/a.py": ""}
    _, found = compared(tmp_path, {}, files)
    assert told(found, "migration") == [("added", path, None)]
