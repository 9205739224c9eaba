"""Project name, address, version and manifests."""

import json
import re
import tomllib
from pathlib import Path, PurePosixPath

from cli.release_notes.facts import FactsRequest, ProjectFile
from cli.release_notes.git.address import name_in, web_address
from cli.release_notes.git.hosts import compare_address
from cli.release_notes.git.objects import CommitObject, GitError, Repository
from cli.release_notes.git.references import End
from cli.release_notes.git.trees import blob_at, names_at, text_of

UNRELEASED = "Unreleased"
_MANIFESTS = re.compile(
    r"^(?:pyproject\.toml|setup\.(?:py|cfg)|requirements\.txt|package\.json|cargo\.toml|go\.mod|(?:docker|container)file[^/]*"
    r"|(?:docker-)?compose\.ya?ml|gemfile|[^/]+\.gemspec|composer\.json|pom\.xml|build\.gradle(?:\.kts)?|mix\.exs"
    r"|pubspec\.yaml|cmakelists\.txt|makefile|action\.ya?ml|flake\.nix|chart\.yaml|[^/]+\.csproj|meson\.build|uv\.lock"
    r"|poetry\.lock|yarn\.lock|pnpm-lock\.yaml|package-lock\.json|bun\.lockb?)$",
    re.I,
)
_NAMED_ONLY = re.compile(r"(?:\.lock|-lock\.(?:json|yaml)|\.lockb)$", re.I)
_LONGEST_FILE = 200_000
_VERSION = re.compile(r"^v?\d[\w.+-]*$")


def project_files(repository: Repository, commit: CommitObject) -> tuple[ProjectFile, ...]:
    """Return the manifests in the root of a commit; lock files without their text."""
    found = []
    for name in names_at(commit):
        if _MANIFESTS.match(name):
            text = "" if _NAMED_ONLY.search(name) else text_of(repository, blob_at(repository, commit, name))
            if text is not None and len(text) <= _LONGEST_FILE:
                found.append(ProjectFile(name, text))
    return tuple(found)


def project_name(files: tuple[ProjectFile, ...], request: FactsRequest, repository: Repository) -> str | None:
    """Return the name in the first manifest, else of the remote, else of the folder."""
    for file in files:
        name = _manifest(file).get("name")
        if name:
            return name
    remote = _remote_of(request, repository)
    if remote and (name := name_in(remote)):
        return name
    folder = Path(repository.workdir or repository.path)
    return folder.name.removesuffix(".git") or None


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
    versions = (_manifest(file).get("version") for file in files)
    return next((version for version in versions if version and _VERSION.match(version)), None)


def _manifest(file: ProjectFile) -> dict[str, str]:
    name = PurePosixPath(file.path).name.lower()
    try:
        if name == "pyproject.toml":
            parsed = tomllib.loads(file.text)
            tables = [parsed.get("project"), parsed.get("tool", {}).get("poetry")]
        elif name == "cargo.toml":
            parsed = tomllib.loads(file.text)
            tables = [parsed.get("package"), parsed.get("workspace", {}).get("package")]
        elif name in ("package.json", "composer.json"):
            tables = [json.loads(file.text)]
        elif name == "go.mod":
            tables = [_go(file.text)]
        else:
            return {}
    except (ValueError, AttributeError, RecursionError):
        return {}
    found: dict[str, str] = {}
    for table in tables:
        if isinstance(table, dict):
            for key in ("name", "version"):
                if isinstance(table.get(key), str):
                    found.setdefault(key, " ".join(table[key].split())[:100])
    return found


def _go(text: str) -> dict[str, str]:
    match = re.search(r"^module\s+(\S+)", text, re.M)
    return {"name": re.sub(r"/v\d+$", "", match[1]).rpartition("/")[2]} if match else {}


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
