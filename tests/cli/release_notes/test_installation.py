"""How to install the release, by each kind of manifest."""

import pytest

from cli.release_notes.facts import ProjectFile
from tests.cli.release_notes.making import facts
from tests.cli.release_notes.test_document import notes, part

INSTALLS = {
    "published": ("pyproject.toml", '[project]\nname = "looms"\nversion = "1.1.0"', "pip install looms==1.1.0"),
    "version from the tag": ("pyproject.toml", '[project]\nname = "looms"\ndynamic = ["version"]', "looms==1.1.0"),
    "another version": (
        "pyproject.toml", '[project]\nname = "looms"\nversion = "1.2.0.dev0"',
        "pip install git+https://github.com/lovelace/looms@v1.1.0",
    ),
    "private": (
        "pyproject.toml", '[project]\nname = "looms"\nclassifiers = ["Private :: Do Not Upload"]', "pip install git+",
    ),
    "poetry": ("pyproject.toml", '[tool.poetry]\nname = "looms"\nversion = "1.1.0"', "pip install looms==1.1.0"),
    "npm": ("package.json", '{"name": "@acme/looms", "version": "1.1.0"}', "npm install @acme/looms@1.1.0"),
    "npm program": ("package.json", '{"name": "looms", "bin": "x.js"}', "npm install --global looms@1.1.0"),
    "npm private": ("package.json", '{"name": "looms", "private": true}', "git checkout v1.1.0\nnpm install"),
    "cargo": ("Cargo.toml", '[package]\nname = "looms"\nversion = "1.1.0"', "cargo add looms@1.1.0"),
    "go": ("go.mod", "module example.org/looms\n\ngo 1.22\n", "go get example.org/looms@v1.1.0"),
    "docker": ("Dockerfile", "FROM scratch\n", "git checkout v1.1.0\ndocker build --tag looms:1.1.0 ."),
    "composer": ("composer.json", '{"name": "acme/looms"}', "composer require acme/looms:1.1.0"),
    "setup.cfg": ("setup.cfg", "[metadata]\nname = looms\nversion = 1.1.0\n", "pip install looms==1.1.0"),
    "setup.py": ("setup.py", "from setuptools import setup\nsetup(name='looms', version=v())", "looms==1.1.0"),
    "mix": ("mix.exs", 'app: :looms,\nversion: "1.1.0"', '{:looms, "== 1.1.0"}'),
    "compose": ("compose.yaml", "services:\n  a: {}\n", "git checkout v1.1.0\ndocker compose up"),
    "gem": ("looms.gemspec", "s.name = 'looms'\ns.version = '1.1.0'", "gem install looms --version 1.1.0"),
    "pub": (
        "pubspec.yaml", "name: looms\nversion: 1.1.0\nenvironment:\n  sdk: '>=3.0.0 <4.0.0'\n",
        "dart pub add looms:1.1.0\n```\n\nNeeds `Dart >=3.0.0 <4.0.0`.",
    ),
    "pub program": (
        "pubspec.yaml", "name: looms\nversion: 1.1.0\nexecutables:\n  looms:\n", "dart pub global activate looms 1.1.0",
    ),
    "pub private": ("pubspec.yaml", "name: looms\npublish_to: none\nversion: 1", "git checkout v1.1.0\ndart pub get"),
    "cmake": ("CMakeLists.txt", "project(looms)\n", "git checkout v1.1.0\ncmake -B build\n"),
    "meson": ("meson.build", "project('looms')\n", "git checkout v1.1.0\nmeson setup build\n"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "text", "command"), INSTALLS.values(), ids=INSTALLS)
def test_installing_is_read_off_the_projects_own_files(path: str, text: str, command: str) -> None:
    assert command in part(notes(project_files=(ProjectFile(path, text),)), "Installation")


def test_a_build_of_a_part_is_not_named_beside_another_way() -> None:
    files = (ProjectFile("CMakeLists.txt", "project(x)"), *facts().project_files)
    section = part(notes(project_files=files), "Installation")
    assert "pip install" in section
    assert "cmake" not in section


DAMAGED = {
    "toml": ("pyproject.toml", "[project"),
    "json": ("package.json", '{"name": ['),
    "array": ("package.json", "[1]"),
    "no name": ("pyproject.toml", "[tool.ruff]\n"),
    "a name that is a command": ("package.json", '{"name": "x; rm -rf ~"}'),
    "a name of a fence": ("package.json", '{"name": "x\\n```\\n# Pwned"}'),
    "odd types": ("pyproject.toml", '[project]\nname = "x"\nclassifiers = 3'),
    "setup.py of another Python": ("setup.py", "print 'x'\nsetup(name='x')"),
    "setup.cfg": ("setup.cfg", "name = x"),
    "pubspec without a name": ("pubspec.yaml", "version: 1.1.0"),
    "cmake that builds nothing": ("CMakeLists.txt", "# project(x)"),
    "in a test": ("tests/data/package.json", '{"name": "x"}'),
}


@pytest.mark.parametrize(("path", "text"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_or_hostile_manifest_names_no_way_to_install(path: str, text: str) -> None:
    section = part(notes(project_files=(ProjectFile(path, text),)), "Installation")
    assert section == "The project's files name no way to install it."
