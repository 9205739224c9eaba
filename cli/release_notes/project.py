"""The project: its name, version and manifests, and the command that installs it. Runs nothing."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from cli.release_notes.facts import End, FactsRequest, Manifest, ReleaseFacts
from cli.release_notes.repository import Repository
from cli.release_notes.web import name_in

UNRELEASED = "Unreleased"
MOST_MEMBERS, _LONGEST_FILE = 60, 200_000
_PLATFORMS = {"pip": "Python", "npm": "Node.js", "cargo": "Rust", "go": "Go"}
_NAME = re.compile(r"@?[A-Za-z0-9][\w.-]*(?:[/:][\w.-]+)*")
_VERSION = re.compile(r"v?\d[\w.+!-]{0,80}")
_NEEDS = re.compile(r"[\w.<>=!~^*|, -]{1,80}")
_TAG = re.compile(r"^(?P<name>@?[A-Za-z][\w./-]*?)(?:@|[-_/]v?(?=\d))")
_NUMBER = re.compile(r"(?:^|[@/_ -])v?(\d+(?:\.\d+)*[\w.+!-]*)$", re.IGNORECASE)


def _pyproject(text: str) -> Manifest:
    data = tomllib.loads(text)
    project = data.get("project") or data.get("tool", {}).get("poetry") or {}
    needs = project.get("requires-python") or project.get("dependencies")
    private = any(str(each).startswith("Private ::") for each in project.get("classifiers") or [])
    needs = needs.get("python") if isinstance(needs, dict) else needs
    return Manifest("", "pip", project["name"], project.get("version"), needs, not private)


def _node(text: str) -> Manifest:
    data = json.loads(text)
    private, engines, workspaces = bool(data.get("private")), data.get("engines"), data.get("workspaces") or []
    members = workspaces.get("packages", []) if isinstance(workspaces, dict) else workspaces
    needs = engines.get("node") if isinstance(engines, dict) else None
    name, runner = "" if private and members else data.get("name", ""), str(data.get("packageManager", ""))
    return Manifest(
        "", "npm", name, data.get("version"), needs, not private, bool(data.get("bin")), _texts(members),
        runner.partition("@")[0],
    )  # fmt: skip


def _pnpm(text: str) -> Manifest:
    members = re.findall(r"^\s*-\s*['\"]?([^'\"#\s!]+)['\"]?\s*$", text, re.M)
    return Manifest("", "npm", "", is_published=False, members=tuple(members), runner="pnpm")


def _rust(text: str) -> Manifest:
    data = tomllib.loads(text)
    package, workspace = data.get("package") or {}, data.get("workspace") or {}
    needs = package.get("rust-version") or (workspace.get("package") or {}).get("rust-version")
    published = bool(package) and package.get("publish") is not False
    members = _texts(workspace.get("members", []))
    return Manifest("", "cargo", package.get("name", ""), package.get("version"), needs, published, members=members)


def _go(text: str) -> Manifest:
    module = re.search(r"^module\s+\"?([^\s\"]+)", text, re.MULTILINE)
    needs = re.search(r"^go\s+([\d.]+)", text, re.MULTILINE)
    return Manifest("", "go", module[1] if module else "", None, needs and needs[1])


_READERS: Mapping[str, Callable[[str], Manifest]] = {
    "pyproject.toml": _pyproject, "package.json": _node, "pnpm-workspace.yaml": _pnpm, "Cargo.toml": _rust,
    "go.mod": _go,
}  # fmt: skip


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(each for each in values if isinstance(each, str) and not each.startswith("!"))


def _fitting(form: re.Pattern[str], value: object) -> str | None:
    return value.strip() if isinstance(value, str) and form.fullmatch(value.strip()) else None


def read_manifest(path: str, text: str) -> Manifest | None:
    try:
        found = _READERS[PurePosixPath(path).name](text)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None
    name, needs = _fitting(_NAME, found.name) or "", _fitting(_NEEDS, found.needs)
    if not name and (found.name or not (found.members or not found.is_published)):
        return None
    needs = f"{_PLATFORMS[found.tool]} {needs}" if needs else None
    return replace(found, path=path, name=name, version=_fitting(_VERSION, found.version), needs=needs)


def read_manifests(repository: Repository, commit: str) -> tuple[Manifest, ...]:
    paths = repository.files(commit)
    found = _read(repository, commit, [path for path in paths if path in _READERS])
    members = [stripped for each in found for member in each.members if (stripped := member.strip("./"))]
    inside = [path for path in paths if path.endswith(("/package.json", "/Cargo.toml", "/pyproject.toml"))]
    inside = [path for path in inside if any(PurePosixPath(path).parent.match(member) for member in members)]
    found += _read(repository, commit, inside[:MOST_MEMBERS])
    return tuple(replace(each, is_program=each.is_program or _is_program(each, paths)) for each in found)


def _read(repository: Repository, commit: str, paths: Sequence[str]) -> list[Manifest]:
    texts = ((path, repository.content(commit, path)[:_LONGEST_FILE]) for path in paths)
    return list(filter(None, (read_manifest(path, text) for path, text in texts)))


def _is_program(manifest: Manifest, paths: Sequence[str]) -> bool:
    folder = PurePosixPath(manifest.path).parent
    go, rust, library = (str(folder / name) in paths for name in ("main.go", "src/main.rs", "src/lib.rs"))
    return go if manifest.tool == "go" else manifest.tool == "cargo" and rust and not library


def project_name(
    manifests: Sequence[Manifest], request: FactsRequest, repository: Repository, tag: str | None
) -> str | None:
    """Return the package that the tag begins with, else the root's or main one, the remote's name, the folder's."""
    prefix = match["name"] if tag and (match := _TAG.match(tag)) else None
    named = [each for each in manifests if each.name]
    if prefix and any(each.name == prefix for each in named):
        return prefix
    # The product of a workspace without a name is the package that the scope of the others is called after.
    scopes = [each.name[1:].partition("/")[0] for each in named if each.name.startswith("@")]
    root = next((each for each in named if "/" not in each.path or each.name in scopes), None)
    if root is not None:
        return re.sub(r"/v\d+$", "", root.name).rpartition("/")[2] if root.tool == "go" else root.name
    folder = Path(repository.text("rev-parse", "--path-format=absolute", "--git-common-dir"))
    folder = folder.parent if folder.name == ".git" else folder
    return name_in(remote_of(request, repository) or "") or folder.name.removesuffix(".git") or None


def remote_of(request: FactsRequest, repository: Repository) -> str | None:
    if request.url and name_in(request.url):
        return request.url
    told = repository.text("config", "--get-regexp", r"^remote\..*\.url$").splitlines()
    remotes = {name: url for name, _, url in (line.partition(" ") for line in told)}
    return remotes.get("remote.origin.url") or next(iter(remotes.values()), None)


def version_of(request: FactsRequest, newer: End, before: Sequence[Manifest], after: Sequence[Manifest]) -> str:
    """Return the given version, else the newer tag, else that of a changed manifest."""
    if request.version_name is not None and request.version_name.strip():
        return " ".join(request.version_name.split())
    old, new = (next((each.version for each in found if each.version), None) for found in (before, after))
    return newer.tag or (new if new and new != old else UNRELEASED)


def raised_needs(before: Sequence[Manifest], after: Sequence[Manifest]) -> Iterator[tuple[str, str, str]]:
    """Yield manifest, statement and platform, where a published package needs a newer one."""
    known = {each.path: each for each in before}
    seen: set[str] = set()
    for new in after:
        old = known.get(new.path)
        counts = (new.is_published or new.tool == "cargo") and new.tool not in seen
        if counts and old and old.needs and new.needs and _least(old.needs) < _least(new.needs):
            seen.add(new.tool)
            platform, _, was = old.needs.partition(" ")
            yield new.path, f"Require {new.needs} (before: {was})", platform


def _least(needs: str) -> tuple[int, ...]:
    found = re.search(r"(?<![<\d.])(?:>=|\^|~>?|==)?\s*(\d+)(?:\.(\d+))?", needs.partition(" ")[2])
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def install_command(facts: ReleaseFacts) -> tuple[Manifest, str] | None:
    """Return the manifest of the published package and its command: none rather than a wrong one."""
    published = [each for each in facts.manifests if each.name and each.is_published]
    root = [each for each in published if "/" not in each.path]
    found = root[0] if root else _main([each for each in published if "/" in each.path], facts)
    number = _NUMBER.search(facts.version.strip())
    if found is None or number is None or found.version not in (None, number[1]):
        return None
    runner = next((each.runner for each in facts.manifests if each.runner), "npm")
    add = "npm install" if runner not in ("pnpm", "yarn") else f"{runner} add"
    commands = {
        "pip": ("pip install {}=={}", "pip install {}=={}"),
        "npm": (add + " {}@{}", "npm install --global {}@{}"),
        "cargo": ("cargo add {}@{}", "cargo install {}@{}"),
        "go": ("go get {}@v{}", "go install {}@v{}"),
    }
    return found, commands[found.tool][found.is_program].format(shlex.quote(found.name), shlex.quote(number[1]))


def _main(members: list[Manifest], facts: ReleaseFacts) -> Manifest | None:
    project = (facts.project_name or "").casefold()
    called = [each for each in members if project in (each.name.casefold(), each.name.rpartition("/")[2].casefold())]
    return next((found[0] for found in (called, members) if len(found) == 1), None)
