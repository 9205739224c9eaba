"""Checks of a written record: similar records, which are named but never refused, and probes that find it."""

from collections.abc import Sequence

from pydantic import Field

from auth.principal import Principal
from stores.records import Entity, Facet, IndexFilter, matches
from tools.app import App
from tools.frame.operation import Call, Result
from tools.records.entity_types import EntityType
from tools.retrieval.pipeline import answered, retrieve
from tools.retrieval.plan import Plan
from tools.search.search import SearchRequest, search

THRESHOLD = 0.85
READ_CHARACTERS = 2_000
NAMED = 5
DEPTH = 100
REHEARSED = 10
CHANCE = 0.3


class Similar(Result):
    """An existing record that says nearly the same."""

    id: str
    name: str
    type: str
    score: float


async def similar(
    app: App, caller: Principal, text: str, kind: EntityType, threshold: float = THRESHOLD
) -> list[Similar]:
    found = await alike(app, caller, text, kind, limit=NAMED)
    return [
        Similar(id=entity.id, name=entity.name, type=entity.entity_type, score=score)
        for entity, score in found
        if score >= threshold
    ]


async def alike(
    app: App, caller: Principal, text: str, kind: EntityType, *, limit: int, status: str | None = None
) -> list[tuple[Entity, float]]:
    any_of: dict[Facet, frozenset[str]] = {"entity_type": frozenset({kind})}
    if status is not None:
        any_of["status"] = frozenset({status})
    plan = Plan(
        organization_id=caller.organization_id,
        query=text[:READ_CHARACTERS],
        filter=IndexFilter(visibility=caller.visible, any_of=any_of),
        now=app.clock(),
        wanted=limit,
        depth=DEPTH,
        superseding_keys=caller.visible,
        asks=False,
        expand=False,
        boost_recent=False,
        newest_first=False,
    )

    def look_up() -> list[tuple[Entity, float]]:
        best = retrieve(app, plan).best
        read = app.ledger.records.entities(plan.organization_id, [hit.id for hit in best])
        return [(read[hit.id], hit.score) for hit in best if hit.id in read and matches(read[hit.id], plan.filter)]

    return await answered(app, plan.organization_id, look_up)


class ProbeRehearsal(Result):
    """Result of searching for a probe."""

    probe: str
    found: bool = Field(description="True if it is among the best 10, by more than chance.")
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
