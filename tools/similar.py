"""Records that look like one that is about to be stored: they are named, never refused."""

from tools.app import App
from tools.entity_types import EntityType
from tools.operation import Call, Result
from tools.search import SearchRequest, alike

THRESHOLD = 0.85
"""The score of a search from which a record is named, unless the caller says otherwise."""
READ_CHARACTERS = 2_000
NAMED = 5


class Similar(Result):
    """An existing record that says nearly the same."""

    id: str
    name: str
    type: str
    score: float


async def similar(app: App, call: Call, text: str, kind: EntityType, threshold: float = THRESHOLD) -> list[Similar]:
    """Name the records of a type that say nearly what a text says, as far as the caller may read them; at most 5."""
    query = SearchRequest(
        query=text[:READ_CHARACTERS],
        types=[kind],
        limit=NAMED,
        include_content=False,
        include_raw_memory=False,
        record_exposure=False,
        boost_recent=False,
    )
    found = await alike(app, call, query)
    return [
        Similar(id=hit.id, name=hit.name, type=hit.type, score=hit.score) for hit in found if hit.score >= threshold
    ]
