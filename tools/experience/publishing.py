"""Publication of an experience: its raw memory, payload, records, relations and jobs, kept in step with its revision.

A publication is one transaction. Each job writes only for the revision that it was queued for, with the present rights
of the caller: it completes the manifest once it is embedded, or distils notes.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from auth.api_keys import present_rights
from auth.memory_policy import MemoryScopeRequest, writable_memory
from auth.policy import Visibility
from auth.principal import Principal
from auth.visibility import entity_key, unavailable_key
from stores.errors import Conflict, Forbidden, NotFound
from stores.indexer.options import NAMES
from stores.jobs import JobDraft
from stores.ledger import Ledger, RelationDraft, Transaction
from stores.records import RAW_MEMORY, Capture, EntityDraft, JsonObject, RawMemory
from tools.experience.payload import Experience, RecordExperienceRequest, content_hash
from tools.experience.projections import Edge, Projection, edges, manifest_id, notes, projections
from tools.frame.audit_entries import remember_entry
from tools.frame.operation import Call
from tools.frame.threads import in_thread
from tools.governance.lifecycle import Lifecycle
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob
from tools.records.derivation import EVIDENCE, OUTLINE, REPORTED, REVISION, ExperienceRevision, memory_id_of
from tools.records.projects import require_live
from tools.records.trust import require_not_rejected

STATED: JsonObject = {"from": "experience"}
EMBED, DISTILL = "backfill_entity_embeddings", "distill_operational_experience_notes"
_PREFIXES = {EMBED: "embed_entities", DISTILL: "distill_operational_experience"}
WAIT_S = 2.0
AGAIN_S = 5.0
PARTS_BETWEEN = 100
"""Parts of evidence between two reports of progress."""
STALE: JsonObject = {"published": 0}


class Place(NamedTuple):
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
    written_entities: int
    written_relations: int
    retired_entities: tuple[str, ...]
    retired_relations: int


class Published(NamedTuple):
    memory: RawMemory
    revision: ExperienceRevision
    kept: Kept
    jobs: dict[str, str]
    """Ids by function."""
    sequence: int


def publish(ledger: Ledger, home: str | None, call: Call, request: RecordExperienceRequest) -> Published:
    """Publish the next revision of a source, whole or not at all; the same content writes nothing twice. Blocks.

    Raises:
        Conflict: The source is bound to another project, or another request published it at this moment.
        Forbidden: Another user made it, and the caller is not a maintainer.
    """
    caller, experience, project_id = call.caller, request.experience, str(request.experience.project_id)
    manifest = manifest_id(experience.source_id)
    place = _place(caller, project_id, manifest)
    outline, records = experience.outline(), list(projections(experience))
    hashed = content_hash(outline)
    who, is_deferred = (caller.organization_id, caller.user_id), request.defer_embeddings
    seen = ledger.memories.memory(caller.organization_id, place.memory_id)
    with ledger.transaction(*who, claim=call.claim, deferred=is_deferred) as tx:
        require_live(project_id, tx.records.entity(project_id))
        memory = _bound_memory(tx, caller, manifest, project_id)
        if memory is not None and (seen is None or seen.entity.revision != memory.entity.revision):
            raise Conflict(f"The source {manifest} is being worked on by another request.")
        before = ExperienceRevision.published(tx, place.memory_id) or ExperienceRevision(content_hash="", number=0)
        is_new = memory is None or before.content_hash != hashed
        number = before.number + is_new
        stamp: JsonObject = {"content_hash": hashed, "source_revision": number, "state": "embedding_pending"}
        records[0] = replace(records[0], metadata=records[0].metadata | stamp)
        if memory is None or is_new:
            memory = _keep_memory(tx, place, memory, experience, (records[0], hashed))
            head = ("{}", json.dumps(outline, ensure_ascii=False))
            tx.payloads.replace_texts(place.memory_id, chain(head, experience.texts()))
        known = before.entities, before.relations
        there = tx.records.outlines(before.notes)
        if is_new or not all(k in there and v.endswith(f":{there[k].revision}") for k, v in before.notes.items()):
            # Notes rest on evidence that is replaced.
            known = before.entities | before.notes, before.relations | before.note_relations
            before.notes, before.note_relations = {}, {}
        kept = _keep(tx, place, (records, edges(experience)), known)
        revision = _next(before, kept, hashed, number)
        revision.keep(tx, place.memory_id)
        if kept.written_entities:
            tx.audit(remember_entry(home, call, memory, tx.records.entity(manifest)))
        jobs = _enqueue(tx, caller, place, request, revision)
        tx.show_in_answer([place.memory_id, *revision.entities])
    return Published(memory, revision, kept, jobs, tx.sequence)


def _place(caller: Principal, project_id: str, manifest: str) -> Place:
    visibility = writable_memory(caller, MemoryScopeRequest("project", project_id, project_id))
    return Place(project_id, visibility, memory_id_of(manifest))


def _bound_memory(tx: Transaction, caller: Principal, manifest: str, project_id: str) -> RawMemory | None:
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
            "another user made this experience; to revise it needs the role project_maintainer.",
            word="project_access_denied",
            remediation="Send it under a source_id of your own, or ask a maintainer of the project.",
            details={"expected": "project_maintainer"},
        )
    if memory is not None and Lifecycle.of(memory).is_withheld:
        named = memory.entity.id
        raise Conflict(
            f"This experience was corrected (memory {named}), so it is not published again.",
            remediation=f"Have an owner or admin restore it with POST /api/memory/inspect/{named}/corrections, or send "
            "what is right under another source_id.",
        )
    return memory


def _keep_memory(
    tx: Transaction, place: Place, memory: RawMemory | None, experience: Experience, told: tuple[Projection, str]
) -> RawMemory:
    manifest, hashed = told
    counts = {name: manifest.metadata[name] for name in ("observations", "evidence_parts")}
    provenance: JsonObject = {"manifest_id": manifest.id, "content_hash": hashed, **counts}
    if memory is not None:
        changed = replace(memory.entity, name=manifest.name, content=manifest.content)
        require_not_rejected(tx, [changed])
        return tx.memories.revise_memory(changed, content_hash=hashed, provenance=provenance, entity_id=manifest.id)
    said = {"name": manifest.name, "content": manifest.content, **place.stamps(place.visibility.key)}
    draft = EntityDraft(id=place.memory_id, entity_type=RAW_MEMORY, **said)
    require_not_rejected(tx, [draft])
    capture = Capture(experience.source_id, REPORTED, tx.now, provenance, None, hashed, "promoted", manifest.id)
    return tx.memories.create_memory(draft, capture)


def _keep(
    tx: Transaction,
    place: Place,
    wanted: tuple[Sequence[Projection], Sequence[Edge]],
    known: tuple[Mapping[str, str], Mapping[str, str]],
) -> Kept:
    """Bring records and relations from the `known` revision to the `wanted` one, whatever others did to them.

    Omitted records stay, but cannot be read; omitted relations end. Unchanged records are not written.
    """
    (records, edges), (known_records, known_relations) = wanted, known
    digests = {each.id: each.digest for each in records}
    there = tx.records.outlines([*digests, *known_records])
    marks = {each: f"{digests[each]}:{there[each].revision}" for each in digests if each in there}
    created = [each for each in records if each.id not in there]
    changed = [each for each in records if each.id in there and known_records.get(each.id) != marks[each.id]]
    tx.records.create_entities([(EntityDraft(id=each.id, **place.fields(each)), None) for each in created])
    for each in changed:
        _update(tx, each.id, place.fields(each))
    for each in (*created, *changed):
        before = there[each.id].revision if each.id in there else 0
        marks[each.id] = f"{each.digest}:{before + 1}"
    readers, sources = frozenset({place.key}), {each.source_id for each in edges}
    names = {each.name for each in edges}
    holding = {(name, *pair) for name in names for pair in tx.relations.edges_from(sources, name, readers)}
    new = [each for each in edges if each.key not in known_relations or each not in holding]
    ended = [_ends(tx, known_relations[key]) for key in known_relations.keys() - {edge.key for edge in edges}]
    drafts = [RelationDraft(*each, visibility=place.key, provenance=STATED) for each in new]
    recorded = tx.relations.record_relations(drafts)
    relations = {edge.key: known_relations[edge.key] for edge in edges if edge.key in known_relations}
    relations |= {edge.key: each.relation.id for edge, each in zip(new, recorded, strict=True)}
    retired = tuple(each for each in known_records if each not in digests and each in there)
    for record_id in retired:
        _update(tx, record_id, {"visibility": unavailable_key(place.key)})
    entities = {each: marks[each] for each in digests}
    return Kept(entities, relations, len(created) + len(changed), len(new), retired, sum(ended))


def _update(tx: Transaction, record_id: str, fields: dict[str, Any]) -> None:
    before = tx.records.entities([record_id])[record_id]
    tx.relations.follow_visibility(before, tx.records.update_entity(record_id, lambda each: replace(each, **fields)))


def _ends(tx: Transaction, relation_id: str) -> bool:
    relation = tx.relations.relation(relation_id)
    if relation is None or tx.relations.has_ended(relation):
        return False
    tx.relations.end_relation(relation_id)
    return True


def _next(before: ExperienceRevision, kept: Kept, hashed: str, number: int) -> ExperienceRevision:
    is_waiting = next(iter(kept.entities.values())) not in before.entities.values()
    changes = {"content_hash": hashed, "number": number, "entities": kept.entities, "relations": kept.relations}
    revision = before.model_copy(update=changes | ({"state": "embedding_pending"} if is_waiting else {}))
    return revision.model_copy(update={"unavailable": revision.with_unavailable(kept.retired_entities)})


def _enqueue(
    tx: Transaction, caller: Principal, place: Place, request: RecordExperienceRequest, revision: ExperienceRevision
) -> dict[str, str]:
    source_id, hashed = request.experience.source_id, revision.content_hash
    # Ids follow from the content.
    named = hashlib.sha256(json.dumps([caller.organization_id, source_id, hashed]).encode()).hexdigest()[:32]
    functions = (EMBED, DISTILL) if request.note_distillation else (EMBED,)
    jobs = {each: f"{_PREFIXES[each]}:{named}" for each in functions}
    payload: JsonObject = {"manifest_id": manifest_id(source_id), "content_hash": hashed}
    payload |= {"project_id": place.project_id, "grant_id": caller.grant_id}
    for function, job_id in jobs.items():
        tx.jobs.enqueue(JobDraft(job_id, function, payload, place.key, caller.user_id, caller.key_id))
    return jobs


async def complete_embeddings(host: JobHost, running: RunningJob) -> JsonObject:
    """Wait until every healthy index shows the records of a revision, then mark its manifest as complete."""
    organization, known = running.job.organization_id, await in_thread(_latest, host, running)
    if known is None:
        return STALE
    head = (await in_thread(host.ledger.feed.head, organization)).sequence
    behind = await host.app.indexer.applied_within(organization, head, [*known.entities], WAIT_S)
    if behind or running.job.total:
        await in_thread(running.progress, len(NAMES) - len(behind), len(NAMES))
    if behind:
        # Others take its turn: a model reads a megabyte in a minute.
        raise NotYet(AGAIN_S)
    return await in_thread(_complete, host, running)


def _complete(host: JobHost, running: RunningJob) -> JsonObject:
    manifest = str(running.job.payload["manifest_id"])
    with _current(host, running) as found:
        if found is None:
            return STALE
        tx, place, revision = found
        before = tx.records.entity(manifest)
        if revision.state == "complete" or before is None:
            return STALE | {"entities": len(revision.entities)}
        tx.records.update_entity(manifest, lambda each: replace(each, metadata=each.metadata | {"state": "complete"}))
        digest, _, number = revision.entities[manifest].partition(":")
        if number == str(before.revision):  # Else somebody changed it, which has to show at the next publication.
            revision.entities[manifest] = f"{digest}:{before.revision + 1}"
        revision.state = "complete"
        revision.keep(tx, place.memory_id)
        return {"published": 1, "entities": len(revision.entities)}


def distil_notes(host: JobHost, running: RunningJob) -> JsonObject:
    organization, manifest = running.job.organization_id, str(running.job.payload["manifest_id"])
    memory_id, payloads = memory_id_of(manifest), host.ledger.payloads
    told = payloads.text(organization, memory_id, OUTLINE)
    if told is None or _latest(host, running) is None:
        return STALE
    outline = json.loads(told)
    total = sum(len(step["evidence"]) for step in outline["observations"])

    def evidence(place: int) -> str:
        if place % PARTS_BETWEEN == 0:
            running.progress(place, total)
        return payloads.text(organization, memory_id, EVIDENCE + place) or ""

    # Read before the transaction, which holds only if the revision is still the same.
    records, stated = notes(outline, evidence, manifest)
    running.progress(total, total)
    with _current(host, running) as found:
        if found is None:
            return STALE
        tx, place, revision = found
        there = tx.records.outlines(revision.entities)
        wanted = (records, [each for each in stated if each.target_id in there])
        kept = _keep(tx, place, wanted, (revision.notes, revision.note_relations))
        revision.notes, revision.note_relations = kept.entities, kept.relations
        revision.unavailable = revision.with_unavailable(())
        revision.keep(tx, place.memory_id)
        return {"published": kept.written_entities, "notes": len(kept.entities)}


def _latest(host: JobHost, running: RunningJob) -> ExperienceRevision | None:
    memory_id = memory_id_of(str(running.job.payload["manifest_id"]))
    revision = ExperienceRevision.read(host.ledger.payloads.text(running.job.organization_id, memory_id, REVISION))
    return revision if revision is not None and revision.content_hash == running.job.payload["content_hash"] else None


@contextmanager
def _current(host: JobHost, running: RunningJob) -> Iterator[tuple[Transaction, Place, ExperienceRevision] | None]:
    job, payload = running.job, running.job.payload
    manifest, project_id = str(payload["manifest_id"]), str(payload["project_id"])
    with host.ledger.transaction(job.organization_id, job.actor_id, deferred=True) as tx:
        tx.jobs.require(job)
        caller = present_rights(host.ledger, host.clock, job, payload.get("grant_id"))
        revision = ExperienceRevision.published(tx, memory_id_of(manifest))
        found = None
        if caller is not None and revision is not None and revision.content_hash == payload["content_hash"]:
            with suppress(Forbidden, NotFound, Conflict):
                require_live(project_id, tx.records.entity(project_id))
                place = _place(caller, project_id, manifest)
                if _bound_memory(tx, caller, manifest, project_id) is not None:
                    found = (tx, place, revision)
        yield found


FUNCTIONS = (JobFunction(EMBED, complete_embeddings, needs_server=True), JobFunction(DISTILL, distil_notes))
