"""Show a record that is stored several times once, and name the others."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from stores.records import RAW_MEMORY, Entity
from tools.retrieval.ranking import Candidate, Ranking

Origin = Literal["graph", "document", "raw_memory"]
ORIGINS: Mapping[str, Origin] = {"document": "document", RAW_MEMORY: "raw_memory"}

WORK = ("task", "epic", "project")
"""Types with a state of their own have no copies."""
SPARE = 4
"""Candidates looked at beyond the page, and beyond one copy of each: `remember` stores everything twice."""
_TIMES = ("captured_at", "occurred_at")
Read = Callable[[Sequence[str]], Mapping[str, Entity]]
Hit = tuple[Candidate, Entity]


@dataclass(slots=True)
class Distinct:
    hits: list[Hit] = field(default_factory=list)
    others: dict[str, list[Entity]] = field(default_factory=dict)
    """Further copies, by the id of the shown one."""
    collapsed: Counter[Origin] = field(default_factory=Counter)
    is_whole: bool = True
    """False if the candidates ended before the page was full."""

    def counted(self, ranking: Ranking) -> Counter[Origin]:
        """Count the ranked records by origin, without the copies that were met."""
        found = Counter[Origin]({"document": ranking.documents, "raw_memory": ranking.memories})
        found["graph"] = ranking.total - found.total()
        found.subtract(self.collapsed)
        return found


def distinct(best: Sequence[Candidate], read: Read, offset: int, limit: int) -> Distinct:
    """Return the page of the candidates without copies of earlier ones.

    Copies have the same name and words, such as a raw memory and the entity that `remember` made of it, which is the
    one to show. The same words of another time or in a thread are another statement.
    """
    shown: dict[Hashable, list[Hit]] = {}
    start = 0
    while len(shown) < offset + limit and start < len(best):
        # A few more, since copies stand next to each other.
        batch = best[start : start + offset + limit - len(shown) + SPARE]
        start += len(batch)
        entities = read([each.id for each in batch])
        for hit in batch:
            if (entity := entities.get(hit.id)) is not None:
                shown.setdefault(words_of(entity), []).append((hit, entity))
    page = Distinct(is_whole=len(shown) >= offset + limit)
    for copies in [*shown.values()][offset : offset + limit]:
        hit, entity = min(copies, key=lambda copy: copy[1].entity_type == RAW_MEMORY)
        page.hits.append((replace(hit, score=copies[0][0].score), entity))
        page.others[entity.id] = [other for _, other in copies if other.id != entity.id]
    page.collapsed = Counter(
        ORIGINS.get(entity.entity_type, "graph") for copies in shown.values() for _, entity in copies[1:]
    )
    return page


def words_of(entity: Entity) -> Hashable:
    """Return what copies of a record have in common."""
    said = (entity.name, entity.content or entity.description, *(str(entity.metadata.get(when)) for when in _TIMES))
    is_its_own = entity.entity_type in WORK or "thread_id" in entity.metadata or not said[1]
    return entity.id if is_its_own else said
