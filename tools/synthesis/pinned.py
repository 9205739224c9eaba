"""Pinned records: what a request names by id, and the section of each. Blocks.

Absent and unreadable records are missing alike.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from auth.memory_policy import may_read_memory
from auth.policy import may_read
from auth.principal import Principal
from stores.records import RAW_MEMORY, Entity, RawMemory
from tools.app import App
from tools.packs.facets import Facet
from tools.packs.selection import GONE
from tools.synthesis.keeping import GENERATED, is_generated
from tools.synthesis.models import PlanRequest
from tools.synthesis.outline import Section
from tools.synthesis.sources import facet_of

ARTIFACT = "artifact:"
FIELDS: Mapping[str, Facet | None] = {
    "decision_ids": "decisions",
    "task_ids": "active_work",
    "entity_ids": None,
    "artifact_ids": "artifacts",
}
"""Request fields, and the fallback facet of each."""


@dataclass(frozen=True, slots=True)
class Pin:
    id: str
    field: str
    record: Entity | None = None
    lifecycle: str = ""
    """`superseded`, `archived` and the like."""


@dataclass(frozen=True, slots=True)
class Pins:
    by_section: Mapping[str, Sequence[Pin]]

    def _of(self, section: Section) -> Sequence[Pin]:
        return self.by_section.get(section.id, ())

    def of_section(self, section: Section) -> list[Entity]:
        return [pin.record for pin in self._of(section) if pin.record is not None]

    def missing(self, section: Section) -> tuple[str, ...]:
        return tuple(pin.id for pin in self._of(section) if pin.record is None)

    def corrected(self, section: Section) -> tuple[str, ...]:
        return tuple(pin.lifecycle for pin in self._of(section) if pin.lifecycle not in ("", "archived"))

    def archived(self, section: Section) -> int:
        return sum(pin.lifecycle == "archived" for pin in self._of(section))


def read_pins(app: App, caller: Principal, request: PlanRequest, sections: Sequence[Section]) -> Pins:
    named = [(each, field) for field in FIELDS for each in dict.fromkeys(getattr(request, field))]
    required = [(each, section.id) for section in sections for each in section.required_ids]
    usable = _read(app, caller, [*(each for each, _ in named), *(each for each, _ in required)])
    by_section: defaultdict[str, list[Pin]] = defaultdict(list)
    once: set[tuple[str, str]] = set()
    for each, where in [*required, *named]:
        field = where if where in FIELDS else "entity_ids"
        pin = usable.pin(each, field)
        home = where if where not in FIELDS else _home(sections, pin)
        already = where in FIELDS and any(each == other for other, _ in once)
        if (each, home) not in once and not already:
            once.add((each, home))
            by_section[home].append(pin)
    return Pins(by_section)


def _home(sections: Sequence[Section], pin: Pin) -> str:
    wanted = [FIELDS[pin.field]]
    if pin.record is not None:
        wanted.insert(0, facet_of(pin.record.entity_type, str(pin.record.metadata.get("status") or "")))
    status = "" if pin.record is None else str(pin.record.metadata.get("status") or "").lower()
    homes = (
        section.id
        for facet in wanted
        if facet
        for section in sections
        if facet in section.facets and (facet != "active_work" or status in section.work)
    )
    return next(homes, sections[0].id)


@dataclass(frozen=True, slots=True)
class _Usable:
    entities: Mapping[str, Entity]
    memories: Mapping[str, RawMemory]
    lifecycles: Mapping[str, str]

    def pin(self, record_id: str, field: str) -> Pin:
        if (memory := self.memories.get(record_id)) is not None:
            is_output = is_generated(memory) or memory.capture.candidate is not None
            return Pin(record_id, field, None if is_output and field != "artifact_ids" else memory.entity)
        lifecycle = self.lifecycles.get(record_id, "")
        return Pin(record_id, field, None if lifecycle else self.entities.get(record_id), lifecycle)


def _read(app: App, caller: Principal, ids: Iterable[str]) -> _Usable:
    organization, wanted = caller.organization_id, set(ids)
    found = app.ledger.records.entities(organization, wanted)
    entities = {each: entity for each, entity in found.items() if may_read(caller, entity.visibility)}
    standings = app.ledger.records.statuses(organization, entities, visibility=caller.visible)
    lifecycles = {}
    for each, standing in standings.items():
        status = standing.status
        lifecycles[each] = "superseded" if standing.superseded else status if status in GONE else ""
    memories = {
        each: memory
        for each, memory in app.ledger.memories.by_ids(
            organization, [each for each, entity in found.items() if entity.entity_type == RAW_MEMORY]
        ).items()
        if _is_usable(caller, memory)
    }
    for each in wanted:
        if each.startswith(ARTIFACT):
            source = each if each.endswith(GENERATED) else each + GENERATED
            kept = [
                memory
                for memory in app.ledger.memories.memories_from(organization, source)
                if _is_usable(caller, memory)
            ]
            memories |= {each: kept[-1]} if kept else {}
    return _Usable(entities, memories, lifecycles)


def _is_usable(caller: Principal, memory: RawMemory) -> bool:
    return may_read_memory(caller, memory.entity.visibility) and memory.capture.review_state != "archived"
