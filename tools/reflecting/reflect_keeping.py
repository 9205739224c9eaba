"""Persistence of a reflection: notes, records and review queue, in one transaction."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from pydantic import JsonValue

from auth.memory_policy import MemoryScopeRequest, writable_memory
from auth.policy import Visibility
from auth.principal import Principal
from auth.visibility import entity_key, members_key, private_key, queue_key
from stores.ledger import Transaction
from stores.records import Entity, JsonObject, RawMemory
from tools.app import App
from tools.frame.audit_entries import remember_entry
from tools.frame.json_values import without_none
from tools.frame.operation import Call
from tools.memory.memories import memory_draft, unchecked_draft
from tools.memory.remember import may_change
from tools.records.derivation import link
from tools.records.entity_models import CONTENT_LIMIT, EntityFields
from tools.records.linking import Link, record
from tools.records.memory_models import RawMemoryFields
from tools.records.projects import require_live
from tools.records.storing import store_in
from tools.records.trust import scope_of_words
from tools.reflecting.duplicates import OPPOSING, RelatedRecord, with_latest
from tools.reflecting.reflect_candidates import Reflection, ReflectRequest, Stored, candidate

SURFACE = "reflect"
WAITING_LIMIT = 200


def stores_anything(request: ReflectRequest) -> bool:
    return request.persist or request.persist_source or request.persist_review


def place_of(app: App, caller: Principal, request: ReflectRequest) -> Visibility:
    project, is_scoped = request.project, request.memory_scope is not None
    if project is not None and not is_scoped:
        require_live(project, app.ledger.records.entity(caller.organization_id, project))
    if is_scoped or stores_anything(request):
        place = writable_memory(caller, _scope(request))
        if is_scoped:
            return replace(place, key=entity_key(place.key))
    if project is None:
        return Visibility(private_key(caller.user_id), "private", None)
    return Visibility(members_key(project), "project", project)


def store(app: App, call: Call, made: Reflection) -> Stored:
    """Store the requested records in one transaction. Blocks."""
    caller, request, stored = call.caller, made.request, Stored()
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        if request.persist_source:
            stored.source = _kept_notes(app, tx, caller, request, stored)
        if request.persist_review:
            _queue(tx, caller, made, stored)
        elif request.persist:
            _write(call, tx, made, stored)
        if stored.source is not None and stored.source_id in stored.memory_ids:
            tx.audit(remember_entry(app.accounts.home_of(caller.user_id), call, stored.source))
        # The stored answer is deleted with the records that it names.
        known = [each for compared in made.compared for each in compared.known]
        tx.show_in_answer({entity.id for each in known for entity in each.records})
        tx.show_in_answer({each for each in (stored.source_id, *stored.record_ids.values()) if each})
    return stored


def _kept_notes(app: App, tx: Transaction, caller: Principal, request: ReflectRequest, stored: Stored) -> RawMemory:
    place = writable_memory(caller, _scope(request))
    same = tx.memories.same_memory(place.key, request.content)
    if same is not None:
        return same
    metadata: JsonObject = {"intent": request.intent, "domain": request.domain, "capture_mode": SURFACE}
    fields = RawMemoryFields(
        raw_content=request.content,
        title=request.source_title,
        memory_scope=place.memory_scope,
        scope_key=place.scope_key,
        project_id=request.project,
        metadata=without_none(metadata),
        capture_surface=SURFACE,
    )
    memory = tx.memories.create_memory(*memory_draft(tx, caller, fields))
    stored.memory_ids.append(memory.entity.id)
    return memory


def _scope(request: ReflectRequest) -> MemoryScopeRequest:
    scope = request.memory_scope or ("private" if request.project is None else "project")
    return MemoryScopeRequest(scope, request.scope_key, request.project)


def _write(call: Call, tx: Transaction, made: Reflection, stored: Stored) -> None:
    rejected, is_shared = _rejected(tx, made), made.place.memory_scope != "private"
    wanted = [
        place
        for place, (finding, compared) in enumerate(zip(made.findings, made.compared, strict=True))
        if finding.content not in rejected
        and not (finding.sensitivity_flags and is_shared)
        and not any(known.is_settled for known in compared.known)
    ]
    stored.record_ids = {
        place: known.entity.id
        for place in wanted
        for known in with_latest(tx, call.caller, made.compared[place], made.place.key).known
        if known.is_settled
    }
    new = [place for place in wanted if place not in stored.record_ids]
    fields = [_fields(made, place, stored) for place in new]
    notes = stored.source
    stored.entities = store_in(
        call, tx, fields, sync=False, made_of=[notes.entity if notes else made.place], trust="proposed"
    )
    if notes is not None and stored.entities:
        link(tx, call.caller, notes, stored.entities[0])
    stored.record_ids |= {place: entity.id for place, entity in zip(new, stored.entities, strict=True)}
    stored.count = len(new)
    links = list(_links_of_known(tx, call.caller, made, {**stored.record_ids, **dict.fromkeys(new)}))
    for place, entity in zip(new, stored.entities, strict=True):
        links += [*_ties(made, entity), *contradictions(entity, made.compared[place].known)]
    record(tx, call.caller, links, created={entity.id for entity in stored.entities})


def _fields(made: Reflection, place: int, stored: Stored) -> EntityFields:
    finding, request = made.findings[place], made.request
    metadata: JsonObject = {
        "project_id": request.project,
        "memory_scope": made.place.memory_scope,
        "raw_source_ids": [*stored.source_ids],
        **finding.place,
        "confidence": finding.confidence,
        "intent": request.intent,
        "domain": request.domain,
        "sensitivity_flags": list[JsonValue](finding.sensitivity_flags) or None,
        "capture_mode": SURFACE,
    }
    return EntityFields(
        name=finding.title,
        content=finding.content[:CONTENT_LIMIT],
        entity_type=finding.kind,
        tags=list(finding.tags),
        metadata=without_none(metadata),
    )


def _links_of_known(
    tx: Transaction, caller: Principal, made: Reflection, ids: Mapping[int, str | None]
) -> Iterator[Link]:
    for place, compared in enumerate(made.compared):
        same = next((each.entity.id for each in compared.known if each.kind == "duplicate" and each.is_certain), None)
        entity = tx.records.entity(found) if (found := ids.get(place, same)) else None
        if entity is not None and may_change(caller, entity):
            yield from (each for each in _ties(made, entity) if each.target_id != entity.id)


def _ties(made: Reflection, entity: Entity) -> list[Link]:
    return [Link(entity, tie.name, tie.target.id, tie.field, types=tie.types) for tie in made.ties]


def contradictions(entity: Entity, known: Iterable[RelatedRecord]) -> list[Link]:
    return [
        Link(entity, "CONTRADICTS", each.entity.id, SURFACE, provenance={"from": SURFACE, "reason": each.kind})
        for each in known
        if each.kind in OPPOSING
    ]


def _queue(tx: Transaction, caller: Principal, made: Reflection, stored: Stored) -> None:
    place = writable_memory(caller, _scope(made.request))
    queue = replace(place, key=queue_key(place.key))
    found = tx.memories.waiting_candidates(queue.key, [each.content for each in made.findings], limit=WAITING_LIMIT)
    waiting = {
        memory.entity.content: memory.entity.id
        for memory in reversed(found)
        if stored.source_id in (None, memory.capture.source_id)
    }
    rejected = _rejected(tx, made)
    for number, finding in enumerate(made.findings):
        if finding.content in rejected:
            continue
        if finding.content in waiting:
            stored.record_ids[number] = waiting[finding.content]
            continue
        fields = RawMemoryFields(
            raw_content=finding.content,
            title=finding.title,
            source_id=stored.source_id,
            tags=list(finding.tags),
            metadata={"capture_mode": SURFACE, "raw_source_ids": [*stored.source_ids]},
            provenance=finding.place,
            capture_surface=SURFACE,
        )
        draft, capture = unchecked_draft(fields, queue, tx.now)
        stored.record_ids[number] = draft.id
        stored.memory_ids.append(draft.id)
        stored.count += 1
        proposed = _proposed(made, number, stored)
        tx.memories.create_memory(replace(draft, project_id=made.request.project), replace(capture, candidate=proposed))


def _rejected(tx: Transaction, made: Reflection) -> Mapping[str, str]:
    scope = scope_of_words(made.place, tx.actor_id)
    return tx.rejections.rejected(scope, [each.content for each in made.findings])


def _proposed(made: Reflection, place: int, stored: Stored) -> JsonObject:
    request = made.request
    known = [each for each in made.compared[place].known if each.is_for_all]
    ties = [tie for tie in made.ties if tie.is_for_all]
    setting = replace(made, ties=ties)
    return {
        **candidate(setting, place, known, stored).model_dump(mode="json"),
        "domain": request.domain,
        "project": request.project,
        "related_to": [f"{tie.name}:{tie.target.id}" for tie in ties if tie.field == "related_to"],
        "task_ids": [tie.target.id for tie in ties if tie.field != "related_to"],
        "source_ids": [*stored.source_ids],
        "source_title": request.source_title,
        "intent": request.intent,
    }
