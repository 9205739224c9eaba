"""Has a server read notes, and says what it found in the form in which it is compared with the labels."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evals.client import Client
from evals.harness.server import served
from tools.reflection import Finding

LIMIT = 25
"""The most candidates of an answer; the longest note has fewer."""

Read = Callable[[str], Sequence[Finding]]


@contextmanager
def reader(folder: Path, environ: Mapping[str, str]) -> Iterator[tuple[Client, Read]]:
    """Serve an empty folder, and yield a client with a way to have notes read, of which nothing is kept."""
    shutil.rmtree(folder, ignore_errors=True)
    with served(folder, environ, None) as target, Client(target.address) as client, client.signed_up("ada") as ada:
        yield ada, lambda notes: [_finding(each) for each in asked(ada, notes)["candidates"]]


def asked(client: Client, notes: str) -> dict[str, Any]:
    """Have notes read."""
    return client.post("/api/context/reflect", {"content": notes, "persist_source": False, "limit": LIMIT})


def _finding(candidate: Mapping[str, Any]) -> Finding:
    span = candidate["metadata"]["span"]
    return Finding(
        kind=candidate["kind"],
        title=candidate["title"],
        content=candidate["content"],
        start=span["start"],
        end=span["end"],
        reason=candidate["reason"],
        confidence=candidate["confidence"],
        tags=tuple(candidate["tags"]),
    )
