"""Code hosts whose pages are known: how each names a commit, a pull request and the comparison of two versions."""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Host:
    """One kind of code host.

    Attributes:
        host: The names of its hosts, a public one's as it is, one's own where it names the kind.
        commit: The path of a commit below the project's page.
        pull_request: The path of a pull request.
        compare: The path that compares two versions, older and newer; empty where there is no such page.
        sha, tag: What stands before a version in `compare`, by what it is.
    """

    host: re.Pattern[str]
    commit: str
    pull_request: str
    compare: str
    sha: str = ""
    tag: str = ""


_HOSTS = (
    Host(
        re.compile(r"^github\.com$|(?:^|\.)github\.(?:[\w-]+\.)+[a-z]+$"),
        "/commit/{}", "/pull/{}", "/compare/{older}...{newer}",
    ),
    Host(
        re.compile(
            r"(?:^|[.-])gitlab(?:[.-]|$)|^(?:salsa\.debian\.org|framagit\.org|invent\.kde\.org|code\.videolan\.org)$"
        ),
        "/-/commit/{}", "/-/merge_requests/{}", "/-/compare/{older}...{newer}",
    ),
    Host(
        re.compile(r"^bitbucket\.org$"), "/commits/{}", "/pull-requests/{}", "/branches/compare/{newer}%0D{older}"
    ),
    Host(
        re.compile(
            r"(?:^|[.-])(?:gitea|forgejo|gogs)(?:[.-]|$)"
            r"|^(?:codeberg\.org|gitee\.com|notabug\.org|opendev\.org|git\.disroot\.org)$"
        ),
        "/commit/{}", "/pulls/{}", "/compare/{older}...{newer}",
    ),
    Host(
        re.compile(r"^dev\.azure\.com$|^[\w-]+\.visualstudio\.com$"),
        "/commit/{}", "/pullrequest/{}", "/branchCompare?baseVersion={older}&targetVersion={newer}", "GC", "GT",
    ),
    Host(re.compile(r"^git\.sr\.ht$"), "/commit/{}", "", ""),
)  # fmt: skip


def host_of(web: str | None) -> Host | None:
    """Return the kind of host that has a project's page; None where its name does not tell."""
    name = (urlsplit(web).hostname or "").lower() if web else ""
    return next((host for host in _HOSTS if host.host.search(name)), None)


def compare_address(web: str | None, older: str, newer: str) -> str | None:
    """Return the page that compares two tags or commits, where the host is one whose pages are known."""
    host = host_of(web)
    if web is None or host is None or not host.compare:
        return None
    shown = [
        (host.sha if _SHA.fullmatch(version) else host.tag) + quote(version, safe="/@+") for version in (older, newer)
    ]
    return web + host.compare.format(older=shown[0], newer=shown[1])
