"""The project of a folder, by its Git remote."""

import re
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, SubprocessError, check_output
from typing import NamedTuple
from urllib.parse import quote

from cli.client.client import Client
from cli.client.failure import NotFound

_HOST = re.compile(r"(?:[\w+.-]+://)?(?:[^/]*@)?[^/:]*(?::\d+(?=/))?[/:]+")


class FolderProject(NamedTuple):
    name: str
    remote: str
    is_there: bool


def project_for(client: Client, folder: Path | None = None) -> FolderProject | None:
    """Return the project of the remote `origin`, which the server may not have; None without Git or remote.

    It is named like the repository; where that project has the address of another repository, with the owner before.
    The host does not count, since SSH has other names for it than HTTPS.
    """
    path = _path(remote := _remote(folder))
    if not (name := path.rpartition("/")[2]):
        return None
    try:
        found = client.call("GET", metrics_path(name))["metrics"]["project_id"]
        url = client.call("GET", f"/api/entities/{quote(found, safe='')}")["metadata"].get("repository_url")
        if isinstance(url, str) and url and _path(url).casefold() != path.casefold() and name != path:
            name = path
            client.call("GET", metrics_path(name))
    except NotFound:
        return FolderProject(name, remote, is_there=False)
    return FolderProject(name, remote, is_there=True)


def metrics_path(project: str) -> str:
    """Return the route of a project's metrics; a name with a slash, which no route can hold, goes by its slug."""
    slug = re.sub(r"[^a-z0-9]+", "-", project.lower()).strip("-")[:50].rstrip("-")
    return f"/api/metrics/projects/{slug if '/' in project else quote(project, safe='')}"


def _remote(folder: Path | None) -> str:
    command = ["git", "-C", str(folder or "."), "config", "--get", "remote.origin.url"]
    with suppress(OSError, ValueError, SubprocessError):
        said = check_output(command, timeout=1, text=True, stdin=DEVNULL, stderr=DEVNULL)  # noqa: S603 - fixed words
        return re.sub(r"//[^/]*@", "//", said.strip())  # without a password
    return ""


def _path(remote: str) -> str:
    return _HOST.sub("", remote.replace("\\", "/").rstrip("/"), count=1).removesuffix(".git")
