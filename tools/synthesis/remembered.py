"""Entities made of kept documents, left out so that no document feeds on another. Blocks."""

from collections.abc import Iterable

from auth.principal import Principal
from stores.records import Entity, RawMemory
from tools.app import App
from tools.frame.json_values import texts_in
from tools.records.derivation import LINK

SURFACE = "synthesis"
GENERATED = ":generated"


def is_generated(memory: RawMemory) -> bool:
    return memory.capture.capture_surface == SURFACE and memory.capture.source_id.endswith(GENERATED)


def generated_among(app: App, caller: Principal, entities: Iterable[Entity]) -> set[str]:
    made_of = {
        entity.id: {*texts_in([entity.metadata.get(LINK)]), *texts_in(entity.metadata.get("raw_source_ids"))}
        for entity in entities
    }
    named = {each for ids in made_of.values() for each in ids}
    if not named:
        return set()
    memories = app.ledger.memories.by_ids(caller.organization_id, named)
    generated = {each for each, memory in memories.items() if is_generated(memory)}
    return {each for each, ids in made_of.items() if ids & generated}
