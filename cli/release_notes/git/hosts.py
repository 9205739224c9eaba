"""URL patterns of known code hosts."""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Host:
    """URL patterns of a host. `sha` and `tag` prefix a version in `compare`, which may be empty."""

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
    name = (urlsplit(web).hostname or "").lower() if web else ""
    return next((host for host in _HOSTS if host.host.search(name)), None)


def compare_address(web: str | None, older: str, newer: str) -> str | None:
    """Return the page that compares two tags or commits, if the host is known."""
    host = host_of(web)
    if web is None or host is None or not host.compare:
        return None
    shown = [
        (host.sha if _SHA.fullmatch(version) else host.tag) + quote(version, safe="/@+") for version in (older, newer)
    ]
    return web + host.compare.format(older=shown[0], newer=shown[1])
