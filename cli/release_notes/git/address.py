"""Addresses of remotes: without secrets, as pages on the web, and as links that compare two versions."""

import re
from urllib.parse import quote, urlsplit

_SCP = re.compile(r"^(?:[^@/\s]+@)?(?P<host>[^:/\s]+):(?!//)(?P<path>[^\s]+)$")
_HOST = re.compile(r"^[\w.-]+(?::\d+)?$|^\[[0-9a-f:.]+\](?::\d+)?$", re.I)
_UNFIT = re.compile(r"[\s<>\"'`()\[\]|\\\x00-\x1f\x7f]")
_AZURE_SSH = re.compile(r"^v3/([^/]+)/([^/]+)/([^/]+)$")


def without_credentials(url: str) -> str:
    """Return an address that may be shown: no user, no password, no query. A path has none of them."""
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
    """Return the page of the project that a remote belongs to; None for local ones and for what is no address."""
    try:
        host, path, scheme = _parted(remote.strip())
    except ValueError:
        return None
    if not _HOST.match(host) or not path or _UNFIT.search(path):
        return None
    if host == "ssh.dev.azure.com" and (azure := _AZURE_SSH.match(path)):
        organization, project, name = azure.groups()
        return f"https://dev.azure.com/{organization}/{project}/_git/{name}"
    return f"{scheme}://{host}/{path}"


def _parted(remote: str) -> tuple[str, str, str]:
    if "://" in remote:
        parts = urlsplit(remote)
        if parts.scheme not in ("http", "https", "ssh", "git", "git+ssh", "git+https"):
            return "", "", ""
        web = parts.scheme in ("http", "https")
        return _host(parts.hostname, parts.port if web else None), _path(parts.path), parts.scheme if web else "https"
    if (scp := _SCP.match(remote)) and len(scp["host"]) > 1:
        return scp["host"], _path(scp["path"]), "https"
    return "", "", ""


def _path(path: str) -> str:
    return path.strip("/").removesuffix(".git").strip("/")


def compare_address(web: str | None, older: str, newer: str) -> str | None:
    """Return the page that compares two references, where the host is one whose pages are known."""
    if web is None:
        return None
    host = (urlsplit(web).hostname or "").lower()
    older, newer = quote(older, safe="/@+"), quote(newer, safe="/@+")
    if "gitlab" in host:
        return f"{web}/-/compare/{older}...{newer}"
    if host == "bitbucket.org":
        return f"{web}/branches/compare/{newer}%0D{older}"
    if host == "dev.azure.com":
        return f"{web}/branchCompare?baseVersion=GT{older}&targetVersion=GT{newer}"
    known = ("github", "gitea", "forgejo", "codeberg", "gogs")
    return f"{web}/compare/{older}...{newer}" if any(name in host for name in known) else None
