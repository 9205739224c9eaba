"""Records of a source, kept in step with its latest revision: created, changed, or made unavailable."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from auth.memory_policy import MemoryScopeRequest, writable_memory
from auth.policy import Visibility
from auth.principal import Principal
from auth.visibility import entity_key, unavailable_key
from stores.ledger import RelationDraft, Transaction
from stores.records import Entity, EntityDraft, JsonObject
from tools.experience.projections import Edge, Projection

SURFACE = "experience"
"""Capture surface of the raw memories of experiences."""
REVISION, OUTLINE, EVIDENCE = 0, 1, 2
"""Places in the payload of a raw memory; evidence parts come last, in the order of the steps."""
STATED: JsonObject = {"from": "experience"}

State = Literal["pending", "embedding_pending", "complete"]


class Revision(BaseModel):
    """Published revision of a source. Only the server writes it."""

    content_hash: str
    number: int = 1
    state: State = "pending"
    entities: dict[str, str] = {}
    """Marks by id, the manifest first: `digest:revision`, so that a change by anybody else shows."""
    relations: dict[str, str] = {}
    """Ids by key."""
    notes: dict[str, str] = {}
    note_relations: dict[str, str] = {}
    unavailable: list[str] = []

    @classmethod
    def read(cls, text: str | None) -> "Revision | None":
        return None if text is None else cls.model_validate_json(text)

    def with_unavailable(self, records: Sequence[str]) -> list[str]:
        """Return all records that are unavailable after some more were retired."""
        shown = self.entities.keys() | self.notes.keys()
        return [each for each in dict.fromkeys([*self.unavailable, *records]) if each not in shown]


@dataclass(frozen=True, slots=True)
class Place:
    """Project of a source, with the visibility of its raw memory."""

    project_id: str
    visibility: Visibility
    memory_id: str

    @property
    def key(self) -> str:
        """Visibility key of all records: that of the raw memory's readers."""
        return entity_key(self.visibility.key)

    def fields(self, record: Projection) -> dict[str, Any]:
        """Return all fields of a record that a caller could have changed."""
        own: JsonObject = {"project_id": self.project_id, "raw_memory_id": self.memory_id}
        said = {name: getattr(record, name) for name in ("entity_type", "name", "content", "category")}
        bare = {"description": "", "languages": (), "tags": (), "metadata": record.metadata | own}
        return said | bare | self.stamps(self.key)

    def stamps(self, key: str) -> dict[str, Any]:
        return replace(self.visibility, key=key).fields | {"project_id": self.project_id}


class Kept(NamedTuple):
    entities: dict[str, str]
    relations: dict[str, str]
    written_entities: int = 0
    written_relations: int = 0
    retired_entities: tuple[str, ...] = ()
    retired_relations: int = 0


def place_of(caller: Principal, project_id: str, memory_id: str) -> Place:
    """Return where the records of a source go; refuse callers who may not write there."""
    return Place(project_id, writable_memory(caller, MemoryScopeRequest("project", project_id, project_id)), memory_id)


def memory_id_of(manifest_id: str) -> str:
    return f"raw_memory_{manifest_id.partition('_')[2]}"


def parts_in(outline: JsonObject) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the evidence parts of an outline with their steps, in the order of their places."""
    found: Any = outline["observations"]
    return ((step, part) for step in found for part in step["evidence"])


def read_revision(tx: Transaction, memory_id: str) -> Revision | None:
    return Revision.read(tx.payloads.text(memory_id, REVISION))


def write_revision(tx: Transaction, memory_id: str, revision: Revision) -> None:
    tx.payloads.replace_text(memory_id, REVISION, revision.model_dump_json())


def keep(
    tx: Transaction,
    place: Place,
    wanted: tuple[Sequence[Projection], Sequence[Edge]],
    known: tuple[Mapping[str, str], Mapping[str, str]],
) -> Kept:
    """Bring records and relations from the `known` revision to the `wanted` one, whatever others did to them.

    Omitted records stay, readable by nobody; omitted relations end. What is known and unchanged is not written.
    """
    records, edges = wanted
    digests = {each.id: each.digest for each in records}
    there = tx.records.outlines([*digests, *known[0]])
    revisions = {each: there[each].revision if each in there else 0 for each in digests}
    created = [each for each in records if each.id not in there]
    changed = [
        each for each in records
        if each.id in there and known[0].get(each.id) != f"{digests[each.id]}:{revisions[each.id]}"
    ]  # fmt: skip
    create_records(tx, place, created)
    for each in changed:
        change_record(tx, place, each)
    revisions |= {each.id: revisions[each.id] + 1 for each in (*created, *changed)}
    entities = {each: f"{digest}:{revisions[each]}" for each, digest in digests.items()}
    holding = _holding(tx, place, edges)
    new = [each for each in edges if each.key not in known[1] or each not in holding]
    ended = sum(end_relation(tx, known[1][key]) for key in known[1].keys() - {edge.key for edge in edges})
    relations = {edge.key: known[1][edge.key] for edge in edges if edge.key in known[1]}
    relations |= relate(tx, place, new)
    retired = tuple(each for each in known[0] if each not in entities and each in there)
    for record_id in retired:
        retire(tx, place, record_id)
    return Kept(entities, relations, len(created) + len(changed), len(new), retired, ended)


def _holding(tx: Transaction, place: Place, edges: Collection[Edge]) -> set[tuple[str, str, str]]:
    readers, sources = frozenset({place.key}), {each.source_id for each in edges}
    names = {each.name for each in edges}
    return {(name, *pair) for name in names for pair in tx.relations.edges_from(sources, name, readers)}


def create_records(tx: Transaction, place: Place, records: Sequence[Projection]) -> None:
    tx.records.create_entities([(EntityDraft(id=each.id, **place.fields(each)), None) for each in records])


def change_record(tx: Transaction, place: Place, wanted: Projection) -> None:
    _update(tx, wanted.id, lambda each: replace(each, **place.fields(wanted)))


def retire(tx: Transaction, place: Place, record_id: str) -> None:
    _update(tx, record_id, lambda each: replace(each, visibility=unavailable_key(place.key)))


def _update(tx: Transaction, record_id: str, change: Callable[[Entity], Entity]) -> None:
    before = tx.records.entities([record_id])[record_id]
    tx.relations.follow_visibility(before, tx.records.update_entity(record_id, change))


def relate(tx: Transaction, place: Place, edges: Sequence[Edge]) -> dict[str, str]:
    """Record relations; return their ids by key."""
    drafts = [RelationDraft(*each, visibility=place.key, provenance=STATED) for each in edges]
    recorded = tx.relations.record_relations(drafts)
    return {edge.key: each.relation.id for edge, each in zip(edges, recorded, strict=True)}


def end_relation(tx: Transaction, relation_id: str) -> bool:
    relation = tx.relations.relation(relation_id)
    if relation is None or tx.relations.has_ended(relation):
        return False
    tx.relations.end_relation(relation_id)
    return True


def erase_made(tx: Transaction, record: Entity) -> str | None:
    """Delete what was made of an experience, but for the record itself, its manifest or raw memory, deleted next.

    Return the id of the raw memory; None if the record belongs to no experience.
    """
    memory_id = memory_id_of(record.id) if record.entity_type == "artifact" else record.id
    revision = read_revision(tx, memory_id)
    if revision is None:
        return None
    for record_id in tx.records.outlines({*revision.entities, *revision.notes, *revision.unavailable} - {record.id}):
        tx.records.delete_entity(record_id)
    write_revision(tx, memory_id, Revision(content_hash="", number=revision.number))
    return memory_id
