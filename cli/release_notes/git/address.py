"""Addresses of remotes: without secrets, and as web pages."""

import re
from urllib.parse import urlsplit

from cli.release_notes.git.hosts import host_of

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
