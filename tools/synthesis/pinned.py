"""Pinned records: what a request names by id, and the section of each. Blocks.

Absent and unreadable records are missing alike.
"""

from collections.abc import Collection, Mapping, Sequence
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
    record: Entity | None = None
    lifecycle: str = ""
    """`superseded`, `archived` and the like."""


def read_pins(
    app: App, caller: Principal, request: PlanRequest, sections: Sequence[Section]
) -> Mapping[str, Sequence[Pin]]:
    """Return the pins of each section by its id."""
    placed = {each for section in sections for each in section.required_ids}
    usable = _read(app, caller, placed.union(*(getattr(request, field) for field in FIELDS)))
    pins = {section.id: [_pin(usable, each, "entity_ids") for each in section.required_ids] for section in sections}
    for field, facet in FIELDS.items():
        for each in getattr(request, field):
            if each not in placed:
                placed.add(each)
                pin = _pin(usable, each, field)
                pins[_home(sections, pin.record, facet)].append(pin)
    return pins


def _home(sections: Sequence[Section], record: Entity | None, fallback: Facet | None) -> str:
    status = "" if record is None else str(record.metadata.get("status") or "")
    own = None if record is None else facet_of(record.entity_type, status)
    homes = (
        section.id
        for facet in (own, fallback)
        for section in sections
        if facet in section.facets and (facet != "active_work" or status.lower() in section.work)
    )
    return next(homes, sections[0].id)


_Usable = Mapping[str, Entity | RawMemory | str]
"""Records and raw memories by id, or why a record is out of use."""


def _pin(usable: _Usable, record_id: str, field: str) -> Pin:
    found = usable.get(record_id)
    if isinstance(found, RawMemory):
        is_output = is_generated(found) or found.capture.candidate is not None
        found = None if is_output and field != "artifact_ids" else found.entity
    return Pin(record_id, lifecycle=found) if isinstance(found, str) else Pin(record_id, found)


def _read(app: App, caller: Principal, wanted: Collection[str]) -> _Usable:
    organization = caller.organization_id
    found = app.ledger.records.entities(organization, wanted)
    usable: dict[str, Entity | RawMemory | str] = {
        each: entity for each, entity in found.items() if may_read(caller, entity.visibility)
    }
    standings = app.ledger.records.statuses(organization, usable, visibility=caller.visible)
    for each, standing in standings.items():
        status = "superseded" if standing.superseded else standing.facets.status
        if status in GONE:
            usable[each] = status
    said = [each for each, entity in found.items() if entity.entity_type == RAW_MEMORY]
    memories = app.ledger.memories.by_ids(organization, said)
    usable |= {each: memory for each, memory in memories.items() if _is_usable(caller, memory)}
    for each in wanted:
        if each.startswith(ARTIFACT):
            source = each if each.endswith(GENERATED) else each + GENERATED
            for memory in app.ledger.memories.memories_from(organization, source):
                if _is_usable(caller, memory):
                    usable[each] = memory
    return usable


def _is_usable(caller: Principal, memory: RawMemory) -> bool:
    return may_read_memory(caller, memory.entity.visibility) and memory.capture.review_state != "archived"
