"""Similarity look-up: near-duplicates are named, never refused."""

from auth.principal import Principal
from stores.records import Entity, Facet, IndexFilter, matches
from tools.app import App
from tools.frame.operation import Result
from tools.records.entity_types import EntityType
from tools.retrieval.pipeline import retrieve
from tools.retrieval.plan import Plan
from tools.retrieval.turns import answered

THRESHOLD = 0.85
READ_CHARACTERS = 2_000
NAMED = 5
DEPTH = 100


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
        sight=caller.visible,
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
