"""Addresses of remotes: without secrets, and as pages of known code hosts."""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

_SCP = re.compile(r"^(?:[^@/\s]+@)?(?P<host>[^:/\s]{2,}):(?!//)(?P<path>[^\s]+)$")
_HOST = re.compile(r"^[\w.-]+(?::\d+)?$|^\[[0-9a-f:.]+\](?::\d+)?$", re.I)
_UNFIT = re.compile(r"[\s<>\"'`()\[\]|\\\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Host:
    """URL patterns of a code host."""

    host: re.Pattern[str]
    commit: str
    pull_request: str
    issue: str
    compare: str


_HOSTS = tuple(
    Host(re.compile(host), *paths)
    for host, *paths in (
        (
            r"^github\.com$|(?:^|\.)github\.(?:[\w-]+\.)+[a-z]+$",
            "/commit/{}", "/pull/{}", "/issues/{}", "/compare/{older}...{newer}",
        ),
        (
            r"(?:^|[.-])gitlab(?:[.-]|$)|^(?:salsa\.debian\.org|framagit\.org|invent\.kde\.org)$",
            "/-/commit/{}", "/-/merge_requests/{}", "/-/issues/{}", "/-/compare/{older}...{newer}",
        ),
        (
            r"^bitbucket\.org$",
            "/commits/{}", "/pull-requests/{}", "/issues/{}", "/branches/compare/{newer}%0D{older}",
        ),
        (
            r"(?:^|[.-])(?:gitea|forgejo|gogs)(?:[.-]|$)|^(?:codeberg\.org|gitee\.com)$",
            "/commit/{}", "/pulls/{}", "/issues/{}", "/compare/{older}...{newer}",
        ),
    )
)  # fmt: skip


def without_credentials(url: str) -> str:
    """Strip user, password and query."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        if ":" not in url.partition("/")[0]:
            return url
        scheme, rest = "", url
    # A password may hold an unescaped slash or at sign: nothing before the last one is shown.
    user, _, shown = re.split(r"[?#]", rest, maxsplit=1)[0].rpartition("@")
    # The name that every host of the scp form has.
    return f"git@{shown}" if not separator and user == "git" else scheme + separator + shown


def web_address(remote: str) -> str | None:
    """Return the web page of a remote; None for local and unknown ones.

    An SSH host may be an alias of the configuration, so it needs a known name.
    """
    host, path, scheme = _parted(remote.strip())
    if not _HOST.match(host) or not path or _UNFIT.search(path):
        return None
    page = f"{scheme if scheme.startswith('http') else 'https'}://{host}/{path}"
    return page if scheme.startswith("http") or ("." in host and host_of(page)) else None


def name_in(remote: str) -> str | None:
    return _parted(remote.strip())[1].rpartition("/")[2] or None


def _parted(remote: str) -> tuple[str, str, str]:
    if "://" in remote:
        try:
            parts = urlsplit(remote)
            name, port = parts.hostname or "", parts.port if parts.scheme.startswith("http") else None
        except ValueError:
            return "", "", ""
        host = f"[{name}]" if ":" in name else name
        known = parts.scheme in ("http", "https", "ssh", "git")
        return (f"{host}:{port}" if port else host, _path(parts.path), parts.scheme) if known else ("", "", "")
    scp = _SCP.match(remote)
    return (scp["host"], _path(scp["path"]), "ssh") if scp else ("", "", "")


def _path(path: str) -> str:
    return path.strip("/").removesuffix(".git").strip("/")


def host_of(web: str | None) -> Host | None:
    name = (urlsplit(web).hostname or "").lower() if web else ""
    return next((host for host in _HOSTS if host.host.search(name)), None)


def compare_address(web: str | None, older: str, newer: str) -> str | None:
    """Return the page that compares two tags or commits, if the host is known."""
    host = host_of(web)
    if web is None or host is None:
        return None
    return web + host.compare.format(older=quote(older, safe="/@+"), newer=quote(newer, safe="/@+"))
