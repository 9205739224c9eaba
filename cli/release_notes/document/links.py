"""Web addresses of commits and pull requests on known hosts."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from cli.release_notes.facts import ReleaseFacts
from cli.release_notes.git.address import host_of
from tools.text.inline import code, inert

SHORT = 7


@dataclass(frozen=True, slots=True)
class Web:
    """Links below `base`, the project's address without a final slash; `short` is the length of an unambiguous sha."""

    base: str | None = None
    commit_path: str = ""
    pull_request_path: str = ""
    short: int = SHORT

    @classmethod
    def of(cls, remote_url: str | None, shas: Iterable[str]) -> "Web":
        short = _short_length(shas)
        base = _safe(remote_url)
        host = host_of(base)
        return cls(base, host.commit, host.pull_request, short) if base and host else cls(short=short)

    def commit(self, sha: str) -> str:
        label = code(sha[: self.short])
        return link(label, f"{self.base}{self.commit_path.format(sha)}") if self.base else label

    def pull_request(self, number: str) -> str:
        digits = number.lstrip("#!")
        if not digits.isascii() or not digits.isdigit():
            return inert(number)
        has_page = self.base and self.pull_request_path
        return link(f"#{digits}", f"{self.base}{self.pull_request_path.format(digits)}") if has_page else f"#{digits}"


def span_of(facts: ReleaseFacts) -> str:
    """Cite the range as Markdown: `1a2b3c4..5d6e7f8`."""
    short = _short_length(facts.commits)
    return link(code(f"{facts.from_sha[:short]}..{facts.to_sha[:short]}"), facts.compare_url or "")


def shortened(ref: str) -> str:
    return ref[:SHORT] if re.fullmatch(r"[0-9a-f]{40}", ref, re.IGNORECASE) else ref


def link(label: str, address: str) -> str:
    """Return a Markdown link, or only the label if the address is unsafe."""
    safe = _safe(address)
    return f"[{label}]({safe})" if safe else label


def _safe(address: str | None) -> str | None:
    if not address or not address.isprintable():
        return None
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.password:
        return None
    return quote(address, safe="/:?#&=%@+~,;.-_!$*'").rstrip("/")


def _short_length(shas: Iterable[str]) -> int:
    known = list(shas)
    return next((n for n in range(SHORT, 40) if len({sha[:n] for sha in known}) == len(known)), 40)
