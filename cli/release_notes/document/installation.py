"""The installation section, from the manifests at the newer end: no command rather than a wrong one."""

import re
import shlex
from dataclasses import replace
from pathlib import PurePosixPath

from cli.release_notes.document.model import Block, Code, Note, Section, joined
from cli.release_notes.document.presets import Preset
from cli.release_notes.facts import ReleaseFacts
from cli.release_notes.manifests import Manifest, read_manifest
from tools.text.inline import code

MOST_WAYS = 3
_NUMBER = re.compile(r"(?:^|[@/_ -])v?(\d+(?:\.\d+)*[\w.+!-]*)$", re.IGNORECASE)
_REF = re.compile(r"(?!HEAD|FETCH_HEAD)\w(?:[\w/+-]|\.(?!\.))*")


def installation(facts: ReleaseFacts, preset: Preset) -> Section:
    """Return the install commands; only the first for terse presets."""
    ways = [(each, command) for each in _ways(facts) if (command := _command(each, facts))]
    blocks: list[Block] = []
    for manifest, command in ways[: 1 if preset.terse else MOST_WAYS]:
        blocks += [Note(f"Or, by {code(manifest.path)}:")] if blocks else []
        blocks.append(Code(command))
    if blocks and not preset.terse:
        needs = list(dict.fromkeys(code(each.needs) for each, _ in ways if each.needs))
        extras = [code(f"{each.name}[{extra}]") for each, _ in ways[:1] for extra in each.extras[:12]]
        blocks += [Note(f"{what} {joined(words)}.") for what, words in (("Needs", needs), ("Extras:", extras)) if words]
    return Section("installation", "Installation", tuple(blocks), "The project's files name no way to install it.")


def _ways(facts: ReleaseFacts) -> list[Manifest]:
    paths = {file.path for file in facts.project_files}
    everything = list(filter(None, map(read_manifest, facts.project_files)))
    root = [each for each in everything if "/" not in each.path]
    named = [each for each in root if each.name and each.is_published]
    if any(each.members for each in root) and not named:
        main = _main([each for each in everything if "/" in each.path and each.name and each.is_published], facts)
        named = [main] if main else []
        root = [each for each in root if each.tool == "docker"]
    runner = next((each.runner for each in everything if each.runner), "npm")
    found = [*named, *(each for each in root if each not in named)]
    found = [replace(each, runner=runner, is_program=each.is_program or _is_program(each, paths)) for each in found]
    return sorted(found, key=lambda each: (each.tool == "docker", not each.is_published))


def _main(members: list[Manifest], facts: ReleaseFacts) -> Manifest | None:
    # The one that is called like the project, or the only one outside of the project's scope.
    project = (facts.project_name or "").casefold()
    called = [each for each in members if each.name.rpartition("/")[2].casefold() == project]
    plain = [each for each in members if not each.name.startswith("@")]
    return next((found[0] for found in (called, plain, members) if len(found) == 1), None)


def _is_program(manifest: Manifest, paths: set[str]) -> bool:
    folder = PurePosixPath(manifest.path).parent
    go, rust, library = (str(folder / name) in paths for name in ("main.go", "src/main.rs", "src/lib.rs"))
    return go if manifest.tool == "go" else manifest.tool == "cargo" and rust and not library


def _command(manifest: Manifest, facts: ReleaseFacts) -> str:
    found = _NUMBER.search(facts.version.strip())
    name, program, tool = shlex.quote(manifest.name), manifest.is_program, manifest.tool
    ref = facts.to_ref if _REF.fullmatch(facts.to_ref) else facts.to_sha[:12]
    if found and manifest.is_published and manifest.version in (None, found[1]):
        number = shlex.quote(found[1])
        add = "npm install" if manifest.runner not in ("pnpm", "yarn") else f"{manifest.runner} add"
        return {
            "pip": f"pip install {name}=={number}",
            "npm": f"{'npm install --global' if program else add} {name}@{number}",
            "cargo": f"cargo {'install' if program else 'add'} {name}@{number}",
            "go": f"go {'install' if program else 'get'} {name}@v{number}",
            "composer": f"composer require {name}:{number}",
            "gem": f"gem install {name} --version {number}",
        }[tool]
    if "/" in manifest.path:
        return ""
    if tool == "pip" and facts.remote_url:
        return f"pip install {shlex.quote(f'git+{facts.remote_url}@{ref}')}"
    image = re.sub(r"[^a-z0-9._-]+", "-", (facts.project_name or "app").lower()).strip("-._") or "app"
    build = {
        "pip": "pip install .",
        "npm": "" if manifest.is_published else f"{manifest.runner} install",
        "cargo": "cargo install --path ." if program else "",
        "go": "go install ." if program else "",
        "docker": f"docker build --tag {image} .",
    }.get(tool, "")
    return f"git checkout {shlex.quote(ref)}\n{build}" if build else ""
