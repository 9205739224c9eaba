"""Project name, address, version and manifests."""

import re
from collections.abc import Iterator
from pathlib import Path

from cli.release_notes.facts import FactsRequest, ProjectFile
from cli.release_notes.git.address import compare_address, name_in, web_address
from cli.release_notes.git.objects import CommitObject, GitError, Repository, blob_at, names_at, text_of
from cli.release_notes.git.range import End
from cli.release_notes.manifests import is_manifest, read_manifest

UNRELEASED = "Unreleased"
MOST_MEMBERS = 60
_LONGEST_FILE = 200_000
_VERSION = re.compile(r"^v?\d[\w.+-]*$")
_TAG = re.compile(r"^(?P<name>@?[A-Za-z][\w./-]*?)(?:@|[-_/]v?(?=\d))")


def project_files(repository: Repository, commit: CommitObject) -> tuple[ProjectFile, ...]:
    """Return the manifests in the root of a commit and of its workspaces, and the names of main files."""
    found = [file for name in names_at(commit) if is_manifest(name) and (file := _file(repository, commit, name))]
    members = [member for file in found if (manifest := read_manifest(file)) for member in manifest.members]
    folders = [folder for member in dict.fromkeys(members) for folder in _folders(commit, member.strip("./"))]
    for folder in list(dict.fromkeys(folders))[:MOST_MEMBERS]:
        inside = [f"{folder}/{name}" for name in ("package.json", "Cargo.toml", "pyproject.toml")]
        found += [file for path in inside if (file := _file(repository, commit, path))]
    for folder in {file.path.rpartition("/")[0] for file in found if file.path.endswith(("go.mod", "Cargo.toml"))}:
        mains = (f"{folder}/{path}".strip("/") for path in ("main.go", "src/main.rs", "src/lib.rs"))
        found += [ProjectFile(path, "") for path in mains if blob_at(repository, commit, path)]
    return tuple(found)


def _file(repository: Repository, commit: CommitObject, path: str) -> ProjectFile | None:
    text = text_of(repository, blob_at(repository, commit, path))
    return ProjectFile(path, text) if text is not None and len(text) <= _LONGEST_FILE else None


def _folders(commit: CommitObject, member: str) -> list[str]:
    parent, _, last = member.rpartition("/")
    if "*" not in last:
        return [member]
    return [f"{parent}/{name}".strip("/") for name in names_at(commit, parent, folders=True) if "*" not in parent]


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
    remote = _remote_of(request, repository)
    folder = Path(repository.workdir or repository.path)
    return (remote and name_in(remote)) or folder.name.removesuffix(".git") or None


def raised_needs(repository: Repository, older: CommitObject, newer: CommitObject) -> Iterator[tuple[str, str, str]]:
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
    before = _manifest_version(project_files(repository, older.commit))
    after = _manifest_version(project_files(repository, newer.commit))
    return after if after and after != before else UNRELEASED


def _manifest_version(files: tuple[ProjectFile, ...]) -> str | None:
    versions = (found.version for found in map(read_manifest, files) if found is not None)
    return next((version for version in versions if version and _VERSION.match(version)), None)


def addresses(repository: Repository, request: FactsRequest, older: End, newer: End) -> tuple[str | None, str | None]:
    """Return the project's page and its comparison page; None for unknown hosts."""
    remote = _remote_of(request, repository)
    web = web_address(remote) if remote else None
    return web, compare_address(web, older.tag or older.sha, newer.tag or newer.sha)


def _remote_of(request: FactsRequest, repository: Repository) -> str | None:
    return request.url if request.url and name_in(request.url) else _remote(repository)


def _remote(repository: Repository) -> str | None:
    names = list(repository.remotes.names())
    for name in sorted((name for name in names if name), key=lambda name: (name != "origin", name != "upstream", name)):
        try:
            return repository.remotes[name].url
        except (KeyError, GitError, ValueError):
            continue
    return None
