"""Project name, address, version and manifests."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from cli.release_notes.facts import FactsRequest, ProjectFile
from cli.release_notes.manifests import is_manifest, read_manifest
from cli.release_notes.ranges import End
from cli.release_notes.repository import Repository
from cli.release_notes.web import name_in

UNRELEASED = "Unreleased"
MOST_MEMBERS = 60
_RANK = {"remote.origin.url": 0, "remote.upstream.url": 1}
_LONGEST_FILE = 200_000
_VERSION = re.compile(r"^v?\d[\w.+-]*$")
_TAG = re.compile(r"^(?P<name>@?[A-Za-z][\w./-]*?)(?:@|[-_/]v?(?=\d))")


def project_files(repository: Repository, commit: str) -> tuple[ProjectFile, ...]:
    """Return the manifests in the root of a commit and of its workspaces, and the names of main files."""
    paths = repository.files(commit)
    found = [
        file for path in paths if "/" not in path and is_manifest(path) and (file := _file(repository, commit, path))
    ]
    members = [member.strip("./") for file in found if (known := read_manifest(file)) for member in known.members]
    inside = [path for path in paths if path.endswith(("/package.json", "/Cargo.toml", "/pyproject.toml"))]
    inside = [path for path in inside if any(PurePath(path).parent.match(member) for member in members if member)]
    found += [file for path in inside[:MOST_MEMBERS] if (file := _file(repository, commit, path))]
    folders = {file.path.rpartition("/")[0] for file in found if file.path.endswith(("go.mod", "Cargo.toml"))}
    mains = {f"{folder}/{path}".strip("/") for folder in folders for path in ("main.go", "src/main.rs", "src/lib.rs")}
    return (*found, *(ProjectFile(path, "") for path in paths if path in mains))


def _file(repository: Repository, commit: str, path: str) -> ProjectFile | None:
    text = repository.content(commit, path)
    return ProjectFile(path, text) if text and len(text) <= _LONGEST_FILE else None


def project_name(
    files: tuple[ProjectFile, ...], request: FactsRequest, repository: Repository, tag: str | None
) -> str | None:
    """Return the package that the tag begins with, else the name in the root's manifest, the remote's, the folder's."""
    prefix = match["name"] if tag and (match := _TAG.match(tag)) else None
    manifests = [found for file in files if (found := read_manifest(file)) and found.name]
    if prefix and any(each.name == prefix for each in manifests):
        return prefix
    root = next((each for each in manifests if "/" not in each.path), None)
    if root is not None:
        return re.sub(r"/v\d+$", "", root.name).rpartition("/")[2] if root.tool == "go" else root.name
    remote = remote_of(request, repository)
    folder = Path(repository.text("rev-parse", "--path-format=absolute", "--git-common-dir"))
    folder = folder.parent if folder.name == ".git" else folder
    return (remote and name_in(remote)) or folder.name.removesuffix(".git") or None


def raised_needs(repository: Repository, older: str, newer: str) -> Iterator[tuple[str, str, str]]:
    """Yield manifest, earlier and later platform version, where a published package needs a newer one."""
    before = {file.path: found for file in project_files(repository, older) if (found := read_manifest(file))}
    seen: set[str] = set()
    for file in project_files(repository, newer):
        old, new = before.get(file.path), read_manifest(file)
        if old and new and old.needs and new.needs and (new.is_published or new.tool == "cargo"):
            platform, numbers = new.needs.partition(" ")[0], (_least(old.needs), _least(new.needs))
            if numbers[0] < numbers[1] and platform not in seen:
                seen.add(platform)
                yield file.path, old.needs.partition(" ")[2], new.needs


def _least(needs: str) -> tuple[int, ...]:
    found = re.search(r"(?<![<\d.])(?:>=|\^|~>?|==)?\s*(\d+)(?:\.(\d+))?", needs.partition(" ")[2])
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def version_of(request: FactsRequest, older: End, newer: End, repository: Repository) -> str:
    """Return the given version, else the newer tag, else that of a changed manifest."""
    if request.version_name is not None and request.version_name.strip():
        return " ".join(request.version_name.split())
    if newer.tag is not None:
        return newer.tag
    before = _manifest_version(project_files(repository, older.sha))
    after = _manifest_version(project_files(repository, newer.sha))
    return after if after and after != before else UNRELEASED


def _manifest_version(files: tuple[ProjectFile, ...]) -> str | None:
    versions = (found.version for found in map(read_manifest, files) if found is not None)
    return next((version for version in versions if version and _VERSION.match(version)), None)


def remote_of(request: FactsRequest, repository: Repository) -> str | None:
    if request.url and name_in(request.url):
        return request.url
    told = repository.text("config", "--get-regexp", r"^remote\..*\.url$").splitlines()
    remotes = sorted((line.split(" ", 1) for line in told if " " in line), key=lambda pair: _RANK.get(pair[0], 2))
    return remotes[0][1] if remotes else None
