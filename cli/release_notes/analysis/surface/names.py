"""Compare the names at both ends: added, removed, changed, renamed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cli.release_notes.facts import SurfaceEvent


@dataclass(frozen=True, slots=True)
class Found:
    """A name at one end; `shape` is its signature or default, `body` a digest to detect renames."""

    path: str
    shape: str | None = None
    body: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """A changed name; `before` is the old name after a rename."""

    event: SurfaceEvent
    name: str
    path: str
    old: Found | None
    new: Found | None
    before: str | None = None


def differences(older: Mapping[str, Found], newer: Mapping[str, Found]) -> Iterator[Difference]:
    """Yield removed and changed names, then added ones, outermost first, without members of added or removed names."""
    gone = {name: older[name] for name in older if name not in newer}
    fresh = {name: newer[name] for name in newer if name not in older}
    gone, fresh = _outermost(gone), _outermost(fresh)
    for name, before in _renames(gone, fresh):
        yield Difference("renamed", name, fresh[name].path, gone.pop(before), fresh.pop(name), before)
    for name in sorted(gone, key=_depth):
        yield Difference("removed", name, gone[name].path, gone[name], None)
    for name in sorted(older.keys() & newer.keys(), key=_depth):
        old, new = older[name], newer[name]
        if old.shape is not None and new.shape is not None and old.shape != new.shape:
            yield Difference("changed", name, new.path, old, new)
    for name in sorted(fresh, key=_depth):
        yield Difference("added", name, fresh[name].path, None, fresh[name])


def _depth(name: str) -> tuple[int, str]:
    return name.count("."), name


def _outermost(names: Mapping[str, Found]) -> dict[str, Found]:
    return {name: found for name, found in names.items() if name.rpartition(".")[0] not in names}


def _renames(gone: Mapping[str, Found], fresh: Mapping[str, Found]) -> list[tuple[str, str]]:
    by_body: dict[str, list[str]] = {}
    for name, found in gone.items():
        if found.body:
            by_body.setdefault(found.body, []).append(name)
    pairs = []
    for name, found in fresh.items():
        old = by_body.get(found.body, [])
        if found.body and len(old) == 1:
            pairs.append((name, old[0]))
            by_body.pop(found.body)
    return pairs


def limited(found: Iterable[Difference], most: int) -> tuple[list[Difference], int]:
    everything = list(found)
    return everything[:most], len(everything)
