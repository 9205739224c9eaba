"""Pages of a project at its code host, from the address of its remote; untrusted addresses become no link."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from tools.text.inline import code, inert

SHORT = 7
_SCP = re.compile(r"^(?:[^@/\s]+@)?(?P<host>[^:/\s]{2,}):(?!//)(?P<path>[^\s]+)$")
_HOST = re.compile(r"^[\w.-]+(?::\d+)?$|^\[[0-9a-f:.]+\](?::\d+)?$", re.I)
_UNFIT = re.compile(r"[\s<>\"'`()\[\]|\\\x00-\x1f\x7f]")
_GITHUB = ("/commit/{}", "/pull/{}", "/issues/{}", "/compare/{}...{}")
_GITLAB = ("/-/commit/{}", "/-/merge_requests/{}", "/-/issues/{}", "/-/compare/{}...{}")
_BITBUCKET = ("/commits/{}", "/pull-requests/{}", "/issues/{}", "/branches/compare/{1}%0D{0}")
_GITEA = ("/commit/{}", "/pulls/{}", "/issues/{}", "/compare/{}...{}")
_PATHS = {
    r"^github\.com$|(?:^|\.)github\.(?:[\w-]+\.)+[a-z]+$": _GITHUB,
    r"(?:^|[.-])gitlab(?:[.-]|$)|^(?:salsa\.debian\.org|framagit\.org|invent\.kde\.org)$": _GITLAB,
    r"^bitbucket\.org$": _BITBUCKET,
    r"(?:^|[.-])(?:gitea|forgejo|gogs)(?:[.-]|$)|^(?:codeberg\.org|gitee\.com)$": _GITEA,
}


def without_credentials(url: str) -> str:
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
    page = f"{scheme if scheme.startswith('http') else 'https'}://{host}/{quote(path, safe='/:~+,;.-_@%')}"
    return page if scheme.startswith("http") or ("." in host and _paths_of(page)) else None


def name_in(remote: str) -> str | None:
    return _parted(remote.strip())[1].rpartition("/")[2] or None


def _parted(remote: str) -> tuple[str, str, str]:
    if "://" not in remote:
        scp = _SCP.match(remote)
        remote = f"ssh://{scp['host']}/{scp['path']}" if scp else ""
    try:
        parts = urlsplit(remote)
        name, port = parts.hostname or "", parts.port if parts.scheme.startswith("http") else None
    except ValueError:
        return "", "", ""
    host = f"[{name}]" if ":" in name else name
    path = parts.path.strip("/").removesuffix(".git").strip("/")
    known = parts.scheme in ("http", "https", "ssh", "git")
    return (f"{host}:{port}" if port else host, path, parts.scheme) if known else ("", "", "")


def _paths_of(page: str | None) -> tuple[str, str, str, str] | None:
    name = (urlsplit(page).hostname or "").lower() if page else ""
    return next((paths for host, paths in _PATHS.items() if re.search(host, name)), None)


@dataclass(frozen=True, slots=True)
class Web:
    """Links to commits, pull requests, issues and comparisons; plain text where the host is unknown."""

    base: str | None
    paths: tuple[str, str, str, str]
    short: int

    @classmethod
    def of(cls, page: str | None, shas: Iterable[str]) -> "Web":
        known = list(shas)
        short = next((n for n in range(SHORT, 40) if len({sha[:n] for sha in known}) == len(known)), 40)
        paths = _paths_of(page)
        return cls(page if paths else None, paths or ("", "", "", ""), short)

    def _link(self, label: str, which: int, *words: str) -> str:
        return f"[{label}]({self.base}{self.paths[which].format(*words)})" if self.base else label

    def commit(self, sha: str) -> str:
        return self._link(code(sha[: self.short]), 0, quote(sha))

    def number(self, number: str, *, is_pull: bool) -> str:
        digits = number.lstrip("#!")
        known = digits.isascii() and digits.isdigit()
        return self._link(f"#{digits}", 1 if is_pull else 2, digits) if known else inert(number)

    def comparison(self, label: str, older: str, newer: str) -> str:
        return self._link(code(label), 3, *(quote(each, safe="/@+") for each in (older, newer)))
