"""Show a record that is stored several times once, and name the others."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from stores.records import RAW_MEMORY, Entity
from tools.retrieval.ranking import Candidate, Ranking

Origin = Literal["graph", "document", "raw_memory"]
ORIGINS: Mapping[str, Origin] = {"document": "document", RAW_MEMORY: "raw_memory"}

_TIMES = ("captured_at", "occurred_at")
Read = Callable[[Sequence[str]], Mapping[str, Entity]]
Hit = tuple[Candidate, Entity]


@dataclass(slots=True)
class Distinct:
    hits: list[Hit] = field(default_factory=list)
    others: dict[str, list[Entity]] = field(default_factory=dict)
    """Further copies, by the id of the shown one."""
    is_whole: bool = True
    """False if the candidates ended before the page was full."""

    def counted(self, ranking: Ranking) -> Counter[Origin]:
        """Count the ranked records by origin, without the copies that were met."""
        found = Counter[Origin]({"document": ranking.documents, "raw_memory": ranking.memories})
        found["graph"] = ranking.total - found.total()
        found.subtract(ORIGINS.get(each.entity_type, "graph") for copies in self.others.values() for each in copies)
        return found


def distinct(best: Sequence[Candidate], read: Read, offset: int, limit: int) -> Distinct:
    """Return the page of the candidates without copies of earlier ones.

    Copies have the same name and words, such as a raw memory and the entity that `remember` made of it. The same words
    of another time or in a thread are another statement.
    """
    page, first, wanted, start = Distinct(), dict[str, str](), offset + limit, 0
    count = 0
    while count < wanted and start < len(best):
        batch = best[start : start + wanted - count]
        start += len(batch)
        entities = read([each.id for each in batch])
        for hit in batch:
            entity = entities.get(hit.id)
            shown = hit.id if entity is None else first.setdefault(_words_of(entity), hit.id)
            if entity is not None and shown != hit.id:
                page.others.setdefault(shown, []).append(entity)
                continue
            if entity is not None and count >= offset:
                page.hits.append((hit, entity))
            count += 1
    page.is_whole = count == wanted
    return page


def _words_of(entity: Entity) -> str:
    said = (entity.name, entity.content or entity.description, *(entity.metadata.get(when) for when in _TIMES))
    return entity.id if "thread_id" in entity.metadata else " ".join(str(said).split())
