"""Rehearsal: search for a record by the questions that should find it."""

from collections.abc import Sequence

from pydantic import Field

from tools.app import App
from tools.frame.operation import Call, Result
from tools.search.search import SearchRequest, search

REHEARSED = 10
CHANCE = 0.3


class ProbeRehearsal(Result):
    """Result of searching for a probe."""

    probe: str
    found: bool = Field(description="Whether it is among the best 10, by more than chance.")
    rank: int | None = Field(description="1 for the best hit; null where it is not among the best 10.")


async def rehearsed(app: App, call: Call, probes: Sequence[str], entity_id: str) -> list[ProbeRehearsal]:
    """Search for each probe as the caller, among everything that the caller may read."""
    said = []
    for probe in probes:
        query = SearchRequest(
            query=probe,
            limit=REHEARSED,
            include_content=False,
            include_raw_memory=False,
            record_exposure=False,
            boost_recent=False,
            # The probe must find the record by its own text, not by a relation.
            use_enhanced=False,
        )
        hits = enumerate((await search(app, call, query)).results, start=1)
        rank, score = next(((rank, hit.score) for rank, hit in hits if hit.id == entity_id), (None, None))
        is_found = score is not None and score >= CHANCE
        said.append(ProbeRehearsal(probe=probe, found=is_found, rank=rank))
    return said
