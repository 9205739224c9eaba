"""Dependency updates, merged into one change."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cli.release_notes.analysis.entries import Entry
from cli.release_notes.analysis.paths import role

_NAME = r"(?P<name>@?[\w.-]+(?:/[\w.-]+)*(?:\[[\w,-]+\])?)"
_VERSION = r"v?[\w.^~<>=!*+-]+"
_FORMS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"^(?:bumps?|upgrades?|updates?) {_NAME} from (?P<old>{_VERSION}) to (?P<new>{_VERSION})",
        rf"^(?:updates?"
        rf"|bumps?) (?:the )?(?:dependency )?{_NAME} requirement from (?P<old>{_VERSION}) to (?P<new>{_VERSION})",
        rf"^(?:updates?|upgrades?|bumps?|pin) (?:module |dependency |github action |rust crate |docker tag )+{_NAME}"
        rf"(?: from (?P<old>{_VERSION}))? to (?P<new>{_VERSION})",
        rf"^(?:updates?|bumps?|upgrades?) {_NAME} (?:docker tag|action|digest|orb"
        rf"|pre-commit hook)s?(?: to (?P<new>{_VERSION}))?$",
    )
)
_MANY = re.compile(
    r"pre-commit autoupdate|^bumps? the \S+ group|^(?:updates?|bumps?|upgrades?|pin|lock file|lockfile|refresh"
    r"|regenerate)\b.*\b(?:dependenc(?:y|ies)|lock ?files?|deps|requirements|pre-commit|packages group|maintenance"
    r"|modules)\b|^update all (?:non-major )?|^\[?snyk\]?\b|^pre-commit update$|^(?:update|bump|upgrade) (?:ruff|mypy"
    r"|black|pytest|eslint)\b$",
    re.I,
)
_LISTED = re.compile(
    rf"^\s*(?:[-*]\s*|Updates )`?\[?{_NAME}(?:\]\([^)]*\))?`?:?\s+(?:from )?`?(?P<old>v?\d[\w.+-]*)`?\s*(?:→|->"
    rf"|to)\s*`?(?P<new>v?\d[\w.+-]*)`?",
    re.M,
)
_PRE_COMMIT = re.compile(r"^\s*-\s*\[[^\]]*?/(?P<name>[\w.-]+): (?P<old>v?[\w.+-]+) → (?P<new>v?[\w.+-]+)\]", re.M)
_SAFE_ROLES = frozenset({"lock", "manifest", "tooling"})


@dataclass(frozen=True, slots=True)
class Bump:
    """A dependency update; unknown versions are None."""

    name: str
    old: str | None
    new: str | None


def bumps_of(entry: Entry) -> tuple[Bump, ...] | None:
    """Return the updates of a commit: None if it is no update, empty if it names none."""
    text = entry.message.text
    roles = {role(path) for path in entry.touched.paths}
    only_safe = bool(roles) and roles <= _SAFE_ROLES
    for form in _FORMS:
        match = form.match(text)
        if match and (only_safe or not roles or entry.commit.author.is_bot or entry.message.kind == "dependency"):
            groups = match.groupdict()
            return (Bump(groups["name"], groups.get("old"), groups.get("new")),)
    if _MANY.search(text) or (entry.message.kind == "dependency" and not roles - _SAFE_ROLES):
        return _listed(entry.commit.body)
    if roles == {"lock"}:
        return _listed(entry.commit.body)
    return None


def _listed(body: str) -> tuple[Bump, ...]:
    found = [*_PRE_COMMIT.finditer(body[:8_000])] or [*_LISTED.finditer(body[:8_000])]
    return tuple(Bump(match["name"], match["old"], match["new"]) for match in found)[:60]


def is_for_development(entry: Entry) -> bool:
    if re.search(r"deps-dev|dev-dep|pre-commit|github[- ]actions|\bactions/|\bci\b", entry.commit.subject, re.I):
        return True
    return bool(entry.touched.paths) and all(
        role(path) in ("tooling", "test", "documentation") for path in entry.touched.paths
    )


def folded(bumps: Iterable[Bump]) -> list[Bump]:
    """Join the steps of each dependency, given oldest first."""
    joined: dict[str, Bump] = {}
    for bump in bumps:
        before = joined.pop(bump.name, None)
        joined[bump.name] = Bump(bump.name, before.old if before and before.old else bump.old, bump.new or bump.old)
    return list(joined.values())[::-1]


def summary(bumps: Sequence[Bump], count: int, *, development: bool) -> str:
    what = "development dependencies" if development else "dependencies"
    if not bumps:
        return f"Updated {what}" + (f" ({count} times)" if count > 1 else "")
    if len(bumps) == 1 and count <= 2:
        only = bumps[0]
        versions = f" from {only.old} to {only.new}" if only.old and only.new else f" to {only.new}" if only.new else ""
        return f"Updated {only.name}{versions}"
    named = ", ".join(_short(bump) for bump in bumps[:4])
    more = f" and {len(bumps) - 4} more" if len(bumps) > 4 else ""
    return f"Updated {len(bumps)} {what}: {named}{more}"


def _short(bump: Bump) -> str:
    return f"{bump.name} {bump.new}" if bump.new else bump.name
