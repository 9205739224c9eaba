"""Waits until what a run has stored can be found, and tells an index that will not get there by waiting."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evals.client import Client
from evals.harness.places import Place
from evals.harness.server import Target
from evals.progress import progress
from stores.errors import EngrainError

SEARCHED = frozenset({"lexical", "graph", "vectors"})
LIMIT_S = 7200.0
FOR_GOOD_S = 120.0
"""An index that fails is opened again after a minute at most, and then built anew."""
_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Behind:
    """An index that does not hold everything yet."""

    state: str
    pending: int
    """Changes that it has to take in; 0 where the server does not say."""
    is_in_trouble: bool
    """Whether waiting may be in vain."""


def until_whole(target: Target, key: str, places: Mapping[str, Place], name: str) -> None:
    """Wait for the indexes of the organizations that hold the haystacks of a set, and for no others.

    Raises:
        EngrainError: An index has failed for good, or they take hours.
    """
    with Client(target.address) as client:
        if target.is_ours:
            # Nobody else is on it: one question is about all organizations.
            pending = client.pending()
            with progress(f"{name}: indexing", pending) as advance:
                for left in _left(client, "/api/health/ready", "of the server that was started"):
                    advance(max(0, pending - left))
                    pending = min(pending, left)
                advance(pending)
            return
        organizations = {place.email: place for place in places.values()}
        with progress(f"{name}: indexing, organizations", len(organizations)) as advance:
            for email, place in organizations.items():
                place.enter(client, key)
                whose = f"of {email}" if email else "of the organization of the key"
                for _ in _left(client, "/api/admin/health", f"{whose} at {target.address}"):
                    pass
                advance(1)


def _left(client: Client, path: str, where: str) -> Iterator[int]:
    """Ask again and again until every index holds everything; yield how many changes some index has not taken in."""
    start, troubled = time.monotonic(), dict[str, float]()
    while behind := _behind(client, path, where):
        yield max(index.pending for index in behind.values())
        now = time.monotonic()
        troubled = {name: troubled.get(name, now) for name, index in behind.items() if index.is_in_trouble}
        for name, since in troubled.items():
            if now - since >= FOR_GOOD_S:
                raise EngrainError(
                    f"The index {name} {where} says {behind[name].state} and does not hold everything, for"
                    f" {FOR_GOOD_S:.0f} s now: what is asked would measure that. The log of the server says why."
                )
        if now - start > LIMIT_S:
            raise EngrainError(f"The indexes {', '.join(sorted(behind))} {where} are still behind after two hours.")
        time.sleep(_POLL_S)


def _behind(client: Client, path: str, where: str) -> dict[str, Behind]:
    report = client.get(path)
    if not isinstance(report.get("indexes"), list):
        raise EngrainError(
            f"The server does not say how far the indexes {where} are: its version {report.get('version')} is another"
            " one than this command's. Measure it with the `engrain` of that version."
        )
    found = {}
    for index in report["indexes"]:
        name, state = str(index["name"]), str(index["state"])
        # Readiness counts changes, over all organizations; of one organization there are no numbers.
        if name in SEARCHED and index.get("pending", state != "ready"):
            is_in_trouble = state == "failed" or (state == "catching_up" and _is_hampered(name, report))
            found[name] = Behind(state, int(index.get("pending", 0)), is_in_trouble)
    return found


def _is_hampered(name: str, report: Mapping[str, Any]) -> bool:
    """Whether a server says of itself that an index is incomplete, or that the model that it needs does not answer."""
    unready = {each["name"] for each in report.get("dependencies", ()) if not each["ready"]}
    return report.get("status") == "degraded" or (name == "vectors" and "embedder" in unready)
