"""How to install the release, by each kind of manifest."""

import pytest

from cli.release_notes.facts import ProjectFile
from tests.cli.release_notes.test_document import notes, part

INSTALLS = {
    "published": ("pyproject.toml", '[project]\nname = "looms"\nversion = "1.1.0"', "pip install looms==1.1.0"),
    "private": (
        "pyproject.toml", '[project]\nname = "looms"\nclassifiers = ["Private :: Do Not Upload"]', "pip install git+",
    ),
    "npm": ("package.json", '{"name": "@acme/looms", "version": "1.1.0"}', "npm install @acme/looms@1.1.0"),
    "npm private": ("package.json", '{"name": "looms", "private": true}', "git checkout v1.1.0\nnpm install"),
    "npm of another version": ("package.json", '{"name": "looms", "version": "1.0.0"}', "name no way to install it"),
    "cargo": ("Cargo.toml", '[package]\nname = "looms"\nversion = "1.1.0"', "cargo add looms@1.1.0"),
    "go": ("go.mod", "module example.org/looms\n\ngo 1.22\n", "go get example.org/looms@v1.1.0"),
    "docker": ("Dockerfile", "FROM scratch\n", "git checkout v1.1.0\ndocker build --tag looms ."),
}  # fmt: skip


@pytest.mark.parametrize(("path", "text", "command"), INSTALLS.values(), ids=INSTALLS)
def test_installing_is_read_off_the_projects_own_files(path: str, text: str, command: str) -> None:
    assert command in part(notes(project_files=(ProjectFile(path, text),)), "Installation")


DAMAGED = {
    "toml": ("pyproject.toml", "[project"),
    "json": ("package.json", '{"name": ['),
    "no name": ("pyproject.toml", "[tool.ruff]\n"),
    "a name that is a command": ("package.json", '{"name": "x; rm -rf ~"}'),
    "a name of a fence": ("package.json", '{"name": "x\\n```\\n# Pwned"}'),
    "in a test": ("tests/data/package.json", '{"name": "x"}'),
}


@pytest.mark.parametrize(("path", "text"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_or_hostile_manifest_names_no_way_to_install(path: str, text: str) -> None:
    section = part(notes(project_files=(ProjectFile(path, text),)), "Installation")
    assert section == "The project's files name no way to install it."
