"""The installation section, from the manifests at the newer end."""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from cli.release_notes.document.links import Web
from cli.release_notes.document.model import Block, Code, Note, Section
from cli.release_notes.document.presets import Preset
from cli.release_notes.document.wording import joined
from cli.release_notes.facts import ReleaseFacts
from cli.release_notes.manifests import Manifest, read_manifest
from tools.text.inline import code

SHOWN = 4
_PARTS = ("cmake", "meson")
_NUMBER = re.compile(r"(?:^|[@/_-])v?(\d+(?:\.\d+)*[\w.+!-]*)$", re.IGNORECASE)
_REF = re.compile(r"[\w][\w./+-]*")
_IMAGE = re.compile(r"[^a-z0-9._-]+")
_EMPTY = "The project's files name no way to install it."


def installation(facts: ReleaseFacts, preset: Preset) -> Section:
    """Return the install commands; only the first for terse presets."""
    found = list(_outermost(filter(None, map(read_manifest, facts.project_files))))
    found = [each for each in found if each.tool not in _PARTS] or found
    shown = found[: 1 if preset.terse else SHOWN]
    blocks: list[Block] = []
    for manifest in shown:
        command = _command(manifest, facts)
        if blocks and not preset.terse:
            blocks.append(Note(f"Or, by {code(manifest.path)}:"))
        blocks.append(Code(command, "elixir" if command.startswith("{") else "sh"))
    if shown and not preset.terse:
        blocks += [Note(line) for line in _remarks(shown, facts)]
    return Section("installation", "Installation", tuple(blocks), _EMPTY)


def _outermost(manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    ordered = sorted(manifests, key=lambda each: (each.path.count("/"), each.tool in ("docker", "compose"), each.path))
    seen: set[tuple[str, str]] = set()
    depth = None
    for each in ordered:
        parts = PurePosixPath(each.path).parts[:-1]
        if any(part.lower().startswith(("test", "example", "fixture", "doc", ".")) for part in parts):
            continue
        depth = len(parts) if depth is None else depth
        if len(parts) <= depth and (each.tool, each.name) not in seen:
            seen.add((each.tool, each.name))
            yield each


def _command(manifest: Manifest, facts: ReleaseFacts) -> str:
    number = _number(facts.version)
    if number is not None and manifest.is_published and manifest.version in (None, number):
        return _from_index(manifest, number)
    return _from_source(manifest, facts)


def _from_index(manifest: Manifest, number: str) -> str:
    name, at, is_program = manifest.name, f"{manifest.name}@{number}", manifest.is_program
    return {
        "pip": f"pip install {shlex.quote(f'{name}=={number}')}",
        "npm": f"npm install {'--global ' if is_program else ''}{shlex.quote(at)}",
        "cargo": f"cargo {'install' if is_program else 'add'} {shlex.quote(at)}",
        "go": f"go get {shlex.quote(f'{name}@v{number}')}",
        "composer": f"composer require {shlex.quote(f'{name}:{number}')}",
        "mix": f'{{:{name}, "== {number}"}}  # in deps of mix.exs',
        "gem": f"gem install {shlex.quote(name)} --version {shlex.quote(number)}",
        "pub": f"dart pub global activate {name} {number}" if is_program else f"dart pub add {name}:{number}",
    }[manifest.tool]


def _from_source(manifest: Manifest, facts: ReleaseFacts) -> str:
    ref = _stable_ref(facts)
    folder = str(PurePosixPath(manifest.path).parent)
    address = Web.of(facts.remote_url, ()).base or facts.remote_url
    if manifest.tool == "pip" and address and folder == ".":
        return f"pip install {shlex.quote(f'git+{address}@{ref}')}"
    if manifest.tool == "cargo" and address and manifest.is_program:
        return f"cargo install --git {shlex.quote(address)} --rev {shlex.quote(facts.to_sha)}"
    checkout = f"git checkout {shlex.quote(ref)}\n"
    if folder != ".":
        checkout += f"cd {shlex.quote(folder)}\n"
    return (
        checkout
        + {
            "pip": "pip install .",
            "npm": "npm install",
            "cargo": "cargo build --release",
            "go": "go install ./...",
            "docker": f"docker build --tag {_image(facts)} {_file(manifest)}.",
            "compose": "docker compose up",
            "composer": "composer install",
            "mix": "mix deps.get && mix compile",
            "gem": f"gem build {shlex.quote(PurePosixPath(manifest.path).name)}",
            "pub": "dart pub get",
            "cmake": "cmake -B build\ncmake --build build\ncmake --install build",
            "meson": "meson setup build\nmeson install -C build",
        }[manifest.tool]
    )


def _file(manifest: Manifest) -> str:
    name = PurePosixPath(manifest.path).name
    return "" if name == "Dockerfile" else f"--file {shlex.quote(name)} "


def _image(facts: ReleaseFacts) -> str:
    name = _IMAGE.sub("-", (facts.project_name or "app").lower()).strip("-._") or "app"
    number = _number(facts.version)
    return f"{name}:{number}" if number and re.fullmatch(r"[\w.-]{1,100}", number) else name


def _number(version: str) -> str | None:
    found = _NUMBER.search(version.strip())
    return found[1] if found else None


def _stable_ref(facts: ReleaseFacts) -> str:
    given = facts.to_ref
    is_name = _REF.fullmatch(given) and given.upper() not in ("HEAD", "FETCH_HEAD") and ".." not in given
    return given if is_name else facts.to_sha[:12]


def _remarks(shown: list[Manifest], facts: ReleaseFacts) -> Iterator[str]:
    needs = dict.fromkeys(each.needs for each in shown if each.needs)
    if needs:
        yield f"Needs {joined([code(need) for need in needs])}."
    extras = [extra for each in shown[:1] for extra in each.extras]
    if extras:
        name = shown[0].name
        yield f"Extras: {joined([code(f'{name}[{extra}]') for extra in extras[:12]])}."
    files = joined([code(path) for path in dict.fromkeys(each.path for each in shown)])
    yield f"From {files} as at {Web.of(facts.remote_url, facts.commits).commit(facts.to_sha)}."
