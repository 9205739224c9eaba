"""Project name, address, version and manifests."""

import re
from pathlib import Path

from cli.release_notes.facts import FactsRequest, ProjectFile
from cli.release_notes.git.address import compare_address, name_in, web_address
from cli.release_notes.git.objects import CommitObject, GitError, Repository
from cli.release_notes.git.references import End
from cli.release_notes.git.trees import blob_at, names_at, text_of
from cli.release_notes.manifests import is_manifest, read_manifest

UNRELEASED = "Unreleased"
_LONGEST_FILE = 200_000
_VERSION = re.compile(r"^v?\d[\w.+-]*$")
_MAJOR = re.compile(r"/v\d+$")


def project_files(repository: Repository, commit: CommitObject) -> tuple[ProjectFile, ...]:
    """Return the manifests in the root of a commit."""
    found = []
    for name in names_at(commit):
        if is_manifest(name):
            text = text_of(repository, blob_at(repository, commit, name))
            if text is not None and len(text) <= _LONGEST_FILE:
                found.append(ProjectFile(name, text))
    return tuple(found)


def project_name(files: tuple[ProjectFile, ...], request: FactsRequest, repository: Repository) -> str | None:
    """Return the name in the first manifest, else of the remote, else of the folder."""
    for file in files:
        found = read_manifest(file)
        if found is not None and found.name:
            return found.name if found.tool != "go" else _MAJOR.sub("", found.name).rpartition("/")[2]
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
