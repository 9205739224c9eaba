"""Choose the references to fetch from a remote."""

import re
from dataclasses import dataclass

import pygit2

from cli.release_notes.facts import FactsRequest

_BASE = re.compile(r"^(?P<name>[^~^:@{]+)(?:[~^]\d*)*$")
_KINDS = ("", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/")


@dataclass(frozen=True, slots=True)
class Wanted:
    """References to fetch; `enough` if both ends are among them, `head` is the remote's default branch."""

    refspecs: list[str]
    enough: bool
    head: str | None


def wanted(remote: pygit2.Remote, callbacks: pygit2.RemoteCallbacks, request: FactsRequest) -> Wanted:
    """List a remote's references; pick those of the range and all tags of its ends."""
    heads = remote.list_heads(callbacks=callbacks, proxy=True)
    ids = {head.name: str(head.oid) for head in heads if head.name}
    default = next((head.symref_target for head in heads if head.name == "HEAD" and head.symref_target), None)
    default = default or _branch_at(ids, ids.get("HEAD"))
    ends = [_named(ids, default, ref) for ref in (request.from_ref, request.to_ref)]
    chosen = {name for name in (*ends, default) if name}
    tips = {ids.get(f"{name}^{{}}", ids.get(name)) for name in chosen}
    chosen |= {name.removesuffix("^{}") for name, oid in ids.items() if name.startswith("refs/tags/") and oid in tips}
    specs = [f"+{name}:{name}" for name in sorted(chosen)]
    return Wanted(specs, all(ends), default)


def _branch_at(ids: dict[str, str], oid: str | None) -> str | None:
    branches = [name for name, at in ids.items() if name.startswith("refs/heads/") and at == oid]
    usual = ("refs/heads/main", "refs/heads/master")
    return next((name for name in usual if name in branches), min(branches, default=None))


def _named(ids: dict[str, str], default: str | None, ref: str) -> str | None:
    match = _BASE.match(ref)
    if match is None:
        return None
    if match["name"] == "HEAD":
        return default
    return next((kind + match["name"] for kind in _KINDS if kind + match["name"] in ids and "/" in kind), None) or (
        match["name"] if match["name"] in ids and match["name"].startswith("refs/") else None
    )
