"""Publication of an experience: one transaction for its raw memory, payload, records, relations and jobs."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from auth.principal import Principal
from stores.errors import Conflict, Forbidden
from stores.jobs import JobDraft
from stores.ledger import Ledger, Transaction
from stores.records import RAW_MEMORY, Capture, EntityDraft, JsonObject, RawMemory
from tools.experience.keeping import (
    SURFACE,
    Kept,
    Place,
    Revision,
    end_relation,
    keep,
    memory_id_of,
    place_of,
    read_revision,
    retire,
    write_revision,
)
from tools.experience.payload import Experience, RecordExperienceRequest, content_hash
from tools.experience.projections import Projection, edges, manifest_id, projections
from tools.frame.audit_entries import remember_entry
from tools.frame.operation import Call
from tools.records.projects import require_live

EMBED, DISTILL = "backfill_entity_embeddings", "distill_operational_experience_notes"
_PREFIXES = {EMBED: "embed_entities", DISTILL: "distill_operational_experience"}


@dataclass(frozen=True, slots=True)
class Published:
    memory: RawMemory
    revision: Revision
    kept: Kept
    jobs: dict[str, str]
    """Ids by function."""
    sequence: int


def publish(ledger: Ledger, home: str | None, call: Call, request: RecordExperienceRequest) -> Published:
    """Publish the next revision of a source, whole or not at all; the same content writes nothing twice. Blocks.

    Raises:
        Conflict: The source is bound to another project, or another request published it at this moment.
        Forbidden: Somebody else made it, and the caller is no maintainer.
    """
    caller, experience, project_id = call.caller, request.experience, str(request.experience.project_id)
    manifest = manifest_id(experience.source_id)
    place = place_of(caller, project_id, memory_id_of(manifest))
    outline, records = experience.outline(), list(projections(experience))
    hashed = content_hash(outline)
    who, is_deferred = (caller.organization_id, caller.user_id), request.defer_embeddings
    seen = ledger.memories.memory(caller.organization_id, place.memory_id)
    with ledger.transaction(*who, claim=call.claim, deferred=is_deferred) as tx:
        require_live(project_id, tx.records.entity(project_id))
        memory = bound_memory(tx, caller, manifest, project_id)
        if memory is not None and (seen is None or seen.entity.revision != memory.entity.revision):
            raise Conflict(f"The source {manifest} is being worked on by another request.")
        before = read_revision(tx, place.memory_id) or Revision(content_hash="", number=0)
        is_new = memory is None or before.content_hash != hashed
        number = before.number + is_new
        stamp: JsonObject = {"content_hash": hashed, "source_revision": number, "state": "embedding_pending"}
        records[0] = replace(records[0], metadata=records[0].metadata | stamp)
        if memory is None or is_new:
            memory = keep_memory(tx, place, memory, experience, (records[0], hashed))
            keep_payload(tx, place, outline, experience)
        kept = keep(tx, place, (records, edges(experience)), (before.entities, before.relations))
        there = tx.records.outlines(before.notes)
        if is_new or not all(k in there and v.endswith(f":{there[k].revision}") for k, v in before.notes.items()):
            kept, before.notes, before.note_relations = retire_notes(tx, place, before, kept), {}, {}
        revision = _next(before, kept, hashed, number)
        write_revision(tx, place.memory_id, revision)
        if kept.written_entities:
            tx.audit(remember_entry(home, call, memory, tx.records.entity(manifest)))
        functions = (EMBED, DISTILL) if request.note_distillation else (EMBED,)
        jobs = enqueue(tx, caller, place, functions, (experience.source_id, hashed))
        tx.show_in_answer([place.memory_id, *revision.entities])
    return Published(memory, revision, kept, jobs, tx.sequence)


def bound_memory(tx: Transaction, caller: Principal, manifest: str, project_id: str) -> RawMemory | None:
    """Return the raw memory of a source; refuse those who may not revise it."""
    memory = tx.memories.memory(memory_id_of(manifest))
    anchor = memory.entity if memory is not None else tx.records.entity(manifest)
    if anchor is None:
        return None
    if anchor.project_id != project_id:
        raise Conflict(
            "This source_id is already bound to another project.",
            remediation="Name the project that it was first sent for, or send a new source_id.",
            details={"field": "body.experience.source_id"},
        )
    if anchor.principal_id != caller.user_id and not caller.may_write_in(project_id, "project_maintainer"):
        raise Forbidden(
            "somebody else made this experience; to revise it needs the role project_maintainer.",
            word="project_access_denied",
            remediation="Send it under a source_id of your own, or ask a maintainer of the project.",
            details={"expected": "project_maintainer"},
        )
    return memory


def keep_memory(
    tx: Transaction, place: Place, memory: RawMemory | None, experience: Experience, told: tuple[Projection, str]
) -> RawMemory:
    """Create or revise the one raw memory of a source, which belongs to whoever sent it first."""
    manifest, hashed = told
    counts = {name: manifest.metadata[name] for name in ("observations", "evidence_parts")}
    provenance: JsonObject = {"manifest_id": manifest.id, "content_hash": hashed, **counts}
    if memory is not None:
        changed = replace(memory.entity, name=manifest.name, content=manifest.content)
        return tx.memories.revise_memory(changed, content_hash=hashed, provenance=provenance, entity_id=manifest.id)
    said = {"name": manifest.name, "content": manifest.content, **place.stamps(place.visibility.key)}
    draft = EntityDraft(id=place.memory_id, entity_type=RAW_MEMORY, **said)
    capture = Capture(experience.source_id, SURFACE, tx.now, provenance, None, hashed, "promoted", manifest.id)
    return tx.memories.create_memory(draft, capture)


def keep_payload(tx: Transaction, place: Place, outline: JsonObject, experience: Experience) -> None:
    head = ("{}", json.dumps(outline, ensure_ascii=False))
    tx.payloads.replace_texts(place.memory_id, chain(head, experience.texts()))


def retire_notes(tx: Transaction, place: Place, before: Revision, kept: Kept) -> Kept:
    """Withdraw the notes of the revision before, which rest on evidence that is replaced; count them as retired."""
    ended = sum(end_relation(tx, each) for each in before.note_relations.values())
    there = tuple(tx.records.outlines(before.notes))
    for record_id in there:
        retire(tx, place, record_id)
    retired = (*kept.retired_entities, *there)
    return kept._replace(retired_entities=retired, retired_relations=kept.retired_relations + ended)


def enqueue(
    tx: Transaction, caller: Principal, place: Place, functions: Sequence[str], source: tuple[str, str]
) -> dict[str, str]:
    """Queue the deferred work of a revision, under ids that follow from its content."""
    manifest, hashed = manifest_id(source[0]), source[1]
    named = hashlib.sha256(json.dumps([caller.organization_id, *source]).encode()).hexdigest()[:32]
    jobs = {each: f"{_PREFIXES[each]}:{named}" for each in functions}
    payload: JsonObject = {"manifest_id": manifest, "content_hash": hashed, "project_id": place.project_id}
    payload |= {"grant_id": caller.grant_id}
    for function, job_id in jobs.items():
        tx.jobs.enqueue(JobDraft(job_id, function, payload, place.key, caller.user_id, caller.key_id))
    return jobs


def _next(before: Revision, kept: Kept, hashed: str, number: int) -> Revision:
    is_waiting = next(iter(kept.entities.values())) not in before.entities.values()
    changes = {"content_hash": hashed, "number": number, "entities": kept.entities, "relations": kept.relations}
    revision = before.model_copy(update=changes | ({"state": "embedding_pending"} if is_waiting else {}))
    return revision.model_copy(update={"unavailable": revision.with_unavailable(kept.retired_entities)})
