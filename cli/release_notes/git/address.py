"""Addresses of remotes: without secrets, and as pages of known code hosts."""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

_SCP = re.compile(r"^(?:[^@/\s]+@)?(?P<host>[^:/\s]+):(?!//)(?P<path>[^\s]+)$")
_HOST = re.compile(r"^[\w.-]+(?::\d+)?$|^\[[0-9a-f:.]+\](?::\d+)?$", re.I)
_UNFIT = re.compile(r"[\s<>\"'`()\[\]|\\\x00-\x1f\x7f]")
_AZURE_SSH = re.compile(r"^v3/([^/]+)/([^/]+)/([^/]+)$")
_AZURE_HOSTS = ("ssh.dev.azure.com", "vs-ssh.visualstudio.com")
_SSH_HOSTS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
_ALIAS = re.compile(r"^(github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)[-_][\w-]+$", re.I)
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


def without_credentials(url: str) -> str:
    """Strip user, password and query."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        if ":" not in url.partition("/")[0]:
            return url
        scheme, rest = "", url
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    # A password may hold an unescaped slash or at sign: nothing before the last one is shown.
    user, _, shown = rest.rpartition("@")
    # The name that every host of the scp form has.
    return f"git@{shown}" if not separator and user == "git" else scheme + separator + shown


def _host(name: str | None, port: int | None) -> str:
    shown = name or ""
    if ":" in shown:
        shown = f"[{shown}]"
    return f"{shown}:{port}" if port else shown


def web_address(remote: str) -> str | None:
    """Return the web page of a remote; None for local and unknown ones.

    An SSH host may be an alias of the configuration, so it needs a known name.
    """
    try:
        host, path, scheme = _parted(remote.strip())
    except ValueError:
        return None
    if not _HOST.match(host) or not path or _UNFIT.search(path):
        return None
    if scheme.startswith("http"):
        return f"{scheme}://{host}/{path}"
    if host in _AZURE_HOSTS and (azure := _AZURE_SSH.match(path)):
        organization, project, name = azure.groups()
        return f"https://dev.azure.com/{organization}/{project}/_git/{name}"
    alias = _ALIAS.match(host)
    page = f"https://{alias[1] if alias else _SSH_HOSTS.get(host, host)}/{path}"
    return page if "." in host and host_of(page) else None


def name_in(remote: str) -> str | None:
    try:
        _, path, _ = _parted(remote.strip())
    except ValueError:
        return None
    return path.rpartition("/")[2] or None


def _parted(remote: str) -> tuple[str, str, str]:
    if "://" in remote:
        parts = urlsplit(remote)
        if parts.scheme not in ("http", "https", "ssh", "git", "git+ssh", "git+https"):
            return "", "", ""
        web = parts.scheme in ("http", "https")
        return _host(parts.hostname, parts.port if web else None), _path(parts.path), parts.scheme
    if (scp := _SCP.match(remote)) and len(scp["host"]) > 1:
        return scp["host"], _path(scp["path"]), "ssh"
    return "", "", ""


def _path(path: str) -> str:
    return path.strip("/").removesuffix(".git").strip("/")


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
