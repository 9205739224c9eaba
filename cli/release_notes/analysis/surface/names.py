"""Compare the names at both ends: added, removed, changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cli.release_notes.facts import SurfaceEvent


@dataclass(frozen=True, slots=True)
class Found:
    """A name at one end; `shape` is its signature or default."""

    path: str
    shape: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    event: SurfaceEvent
    name: str
    path: str
    old: Found | None
    new: Found | None


def differences(older: Mapping[str, Found], newer: Mapping[str, Found]) -> Iterator[Difference]:
    """Yield removed and changed names, then added ones, outermost first, without members of added or removed names."""
    gone = {name: older[name] for name in older if name not in newer}
    fresh = {name: newer[name] for name in newer if name not in older}
    gone, fresh = _outermost(gone), _outermost(fresh)
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
