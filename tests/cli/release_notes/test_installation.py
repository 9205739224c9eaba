"""How to install the release, by each kind of manifest."""

import pytest

from cli.release_notes.facts import ProjectFile
from tests.cli.release_notes.making import facts
from tests.cli.release_notes.test_document import notes, part

POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  {}<artifactId>looms</artifactId><version>{}</version>{}
  <properties><maven.compiler.release>17</maven.compiler.release></properties>
</project>
"""
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
    "maven": (
        "pom.xml", POM.format("<groupId>org.acme</groupId>", "1.1.0", ""),
        "```xml\n<dependency>\n  <groupId>org.acme</groupId>\n  <artifactId>looms</artifactId>\n"
        "  <version>1.1.0</version>\n</dependency>\n```\n\nNeeds `Java >=17`.",
    ),
    "maven with a parent and a property": (
        "pom.xml", POM.format("<parent><groupId>org.acme</groupId></parent>", "${revision}", ""), "<version>1.1.0<",
    ),
    "maven of another version": (
        "pom.xml", POM.format("<groupId>a</groupId>", "1.2.0", ""), "git checkout v1.1.0\nmvn install",
    ),
    "maven of several modules": (
        "pom.xml", POM.format("<groupId>a</groupId>", "1.1.0", "<packaging>pom</packaging>"), "\nmvn install\n",
    ),
    "gradle": (
        "build.gradle.kts",
        'plugins { `maven-publish` }\ngroup = "org.acme"\nversion = "1.1.0"\npublishing {\n  artifactId = "looms"\n}',
        '```kotlin\nimplementation("org.acme:looms:1.1.0")\n```',
    ),
    "gradle that is not published": (
        "build.gradle", "plugins { id 'java' }\ngroup 'org.acme'\n", "```sh\ngit checkout v1.1.0\ngradle build\n```",
    ),
    "nuget": (
        "Acme.Looms.csproj", '<Project Sdk="x"><PropertyGroup><Version>1.1.0</Version></PropertyGroup></Project>',
        "dotnet add package Acme.Looms --version 1.1.0",
    ),
    "nuget program": (
        "l.csproj",
        '<Project Sdk="x"><PropertyGroup><PackAsTool>true</PackAsTool><PackageId>Looms</PackageId></PropertyGroup>'
        "</Project>",
        "dotnet tool install --global Looms --version 1.1.0",
    ),
    "nuget for nobody": ("l.csproj", '<Project Sdk="x" />', "git checkout v1.1.0\ndotnet build l.csproj"),
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


HOSTILE_BUILDS = {
    "a group that is a command": ("pom.xml", POM.format("<groupId>x`$(rm)</groupId>", "1.1.0", "")),
    "a version that is a fence": ("pom.xml", POM.format("<groupId>a</groupId>", "\n```\n# Pwned", "")),
    "many comments": ("build.gradle", "apply\n" + "/*" * 90_000),
    "a package that is a command": (
        "x.csproj", '<Project Sdk="x"><PropertyGroup><PackageId>x; rm -rf</PackageId></PropertyGroup></Project>',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "text"), HOSTILE_BUILDS.values(), ids=HOSTILE_BUILDS)
def test_a_hostile_build_says_no_more_than_how_it_is_built(path: str, text: str) -> None:
    section = part(notes(project_files=(ProjectFile(path, text),)), "Installation")
    assert "rm" not in section
    assert "Pwned" not in section


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
    "xml with entities": ("pom.xml", f'<!DOCTYPE p [<!ENTITY a "b">]>{POM.format("<groupId>&a;</groupId>", "1", "")}'),
    "half of an xml": ("pom.xml", "<project><artifactId>x"),
    "xml of something else": ("pom.xml", "<html/>"),
    "csproj of another age": ("x.csproj", "<Project ToolsVersion='4'/>"),
    "pubspec without a name": ("pubspec.yaml", "version: 1.1.0"),
    "gradle that only says a version": ("build.gradle", "version '1'"),
    "cmake that builds nothing": ("CMakeLists.txt", "# project(x)"),
    "in a test": ("tests/data/package.json", '{"name": "x"}'),
}


@pytest.mark.parametrize(("path", "text"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_or_hostile_manifest_names_no_way_to_install(path: str, text: str) -> None:
    section = part(notes(project_files=(ProjectFile(path, text),)), "Installation")
    assert section == "The project's files name no way to install it."
