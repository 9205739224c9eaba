"""Waits until what a run has stored can be found, and tells an index that will not get there by waiting."""

import time
from collections.abc import Callable, Mapping
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


def until_whole(target: Target, key: str, places: Mapping[str, Place], name: str) -> None:
    """Wait for the indexes of the organizations that hold the haystacks of a set, and for no others.

    Raises:
        EngrainError: An index has failed for good, or they take hours.
    """
    with Client(target.address) as client:
        if target.is_ours:
            # Nobody else is on it: one question is about all organizations.
            behind = client.pending()
            with progress(f"{name}: indexing", behind) as advance:
                seen = [behind]

                def came_to(left: int) -> None:
                    advance(max(0, seen[0] - left))
                    seen[0] = min(seen[0], left)

                _wait(client, "/api/health/ready", "of the server that was started", came_to)
            return
        organizations = {place.email: place for place in places.values()}
        with progress(f"{name}: indexing, organizations", len(organizations)) as advance:
            for email, place in organizations.items():
                client.present(place.token(client, key))
                whose = f"of {email}" if email else "of the organization of the key"
                _wait(client, "/api/admin/health", f"{whose} at {target.address}", lambda _: None)
                advance(1)


def _wait(client: Client, path: str, where: str, came_to: Callable[[int], None]) -> None:
    start, troubled = time.monotonic(), dict[str, float]()
    while behind := _behind(client, path, where):
        came_to(max(int(index.get("pending", 0)) for index in behind.values()))
        now = time.monotonic()
        troubled = {name: troubled.get(name, now) for name, index in behind.items() if index["in_trouble"]}
        for name, since in troubled.items():
            if now - since >= FOR_GOOD_S:
                raise EngrainError(
                    f"The index {name} {where} says {behind[name]['state']} and does not hold everything, for"
                    f" {FOR_GOOD_S:.0f} s now: what is asked would measure that. Its log says why; the operator can put"
                    " it right."
                )
        if now - start > LIMIT_S:
            raise EngrainError(f"The indexes {', '.join(sorted(behind))} {where} are still behind after two hours.")
        time.sleep(_POLL_S)
    came_to(0)


def _behind(client: Client, path: str, where: str) -> dict[str, dict[str, Any]]:
    """The indexes that do not hold everything yet, by name, and whether waiting may be in vain."""
    report = client.get(path)
    if not isinstance(report.get("indexes"), list):
        raise EngrainError(
            f"The server does not say how far the indexes {where} are: its version {report.get('version')} is another"
            " one than this command's. Measure it with the `engrain` of that version."
        )
    is_degraded = report.get("status") == "degraded"
    return {
        index["name"]: {
            **index,
            "in_trouble": index["state"] == "failed" or (is_degraded and index["state"] == "catching_up"),
        }
        for index in report["indexes"]
        if index["name"] in SEARCHED and index.get("pending", index["state"] != "ready")
    }
