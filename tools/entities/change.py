"""Update and delete entities, with the cascade to dependent records."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field, JsonValue

from auth.memory_policy import may_erase_memory, may_read_memory, require_erasable_memory
from auth.policy import (
    Visibility,
    may_read,
    require_deletable,
    require_ending,
    require_entry,
    require_scope_change,
    require_source,
    require_writable,
    without_stamped,
    writable_visibility,
)
from auth.principal import Principal
from auth.visibility import members_key, private_key
from stores.errors import Forbidden, InvalidRequest, NotFound, ValidationFailed
from stores.ledger import SUPERSEDES, Transaction
from stores.records import RAW_MEMORY, Entity, JsonObject
from tools.app import App
from tools.entities.entities import entities_made, entity_views
from tools.frame.audit_entries import DELETE, remember_entry
from tools.frame.operation import IF_MATCH, SYNCED, Call, Request, Result, Route, Tool, writing
from tools.records.containment import contain, keep_hidden
from tools.records.derivation import LINK, REMEMBERED, erase_made, require_no_wider, require_sources, sources_of
from tools.records.entity_models import Content, Description, EntityId, EntityView, Label, Labels, Name
from tools.records.entity_types import GONE
from tools.records.projects import audit_project, grant_project, project_named, project_scope, require_live
from tools.records.receipts import receipt
from tools.records.storing import wait_until_visible
from tools.records.trust import require_not_rejected
from tools.records.workflow import checked_workflow, moved, update_epics, workflow_fields


def _is_beside(caller: Principal, record: Entity, work: Entity) -> bool:
    is_in_place = record.project_id in (None, work.project_id) or caller.may_write_in(record.project_id or "")
    is_about = record.metadata.get(f"{work.entity_type}_id") == work.id
    return is_about and record.visibility == work.visibility and is_in_place


def _carry(tx: Transaction, record: Entity, **fields: Any) -> Entity:
    carried = tx.records.update_entity(record.id, lambda current: replace(current, **fields))
    tx.relations.follow_visibility(record, carried)
    return carried


def _carry_beside(tx: Transaction, caller: Principal, before: Entity, work: Entity) -> None:
    if (before.visibility, before.project_id) == (work.visibility, work.project_id):
        return
    for record in (*tx.records.notes_about(work.id), *tx.records.learned_on(work.id)):
        if _is_beside(caller, record, before):
            metadata = {**record.metadata, "project_id": work.project_id}
            contain(tx, caller, record, _carry(tx, record, metadata=metadata, **work.place))


def _without_right(tx: Transaction, caller: Principal, entity: Entity) -> frozenset[str]:
    if entity.visibility == private_key(entity.principal_id):
        return frozenset()
    left = set()
    for relation in tx.relations.unended_relations(entity.id, {SUPERSEDES}):
        target = tx.records.entity(relation.target_id)
        if target is None or not may_read(caller, target.visibility):
            left.add(relation.id)
        else:
            require_writable(caller, target)
    return frozenset(left)


def _carry_to_chunks(tx: Transaction, before: Entity, source: Entity) -> None:
    if (before.name, before.place) == (source.name, source.place):
        return
    for chunk_id in tx.records.chunk_ids(source.id):
        if (chunk := tx.records.entity(chunk_id)) is not None:
            _carry(tx, chunk, name=source.name, **source.place)


class UpdateEntityRequest(Request):
    """The fields to change; those that are absent stay."""

    entity_id: EntityId = Field(description="The entity's id.")
    name: Name | None = Field(None, description="New title.")
    description: Description | None = Field(None, description="New short description.")
    content: Content | None = Field(None, description="New full content.")
    category: Label | None = Field(None, description="New category; null clears it.")
    languages: Labels | None = Field(None, description="New programming languages.")
    tags: Labels | None = Field(None, description="New browse-only labels.")
    metadata: JsonObject | None = Field(
        None,
        description="Merged key by key into the metadata. Null is stored; only the `status`, `priority`, `complexity` "
        "and `visibility` of tasks, epics and projects refuse it. "
        "`project_id` null leaves the project; send `memory_scope` with it to say who may read the record then.",
    )
    expected_revision: int | None = Field(None, ge=1, description="Refuse with 409 unless this is the revision now.")
    sync: bool = Field(False, description="Wait until every healthy index shows the change, at most 20 s.")


CHANGEABLE = ("name", "description", "content", "category", "languages", "tags", "metadata")
WORKFLOW_KEYS = ("status", "visibility", "memory_scope")
KEPT = ("private", "team", "shared", "delegated")
OF_EXPERIENCE = frozenset(
    {LINK, "manifest_id", "source_id", "content_hash", "source_revision", "state", "outcome_verified", "observation_id"}
)
"""Metadata of records of an operational experience, which only publication writes; of a procedure the status, too."""
CLEARABLE = frozenset({"category"})
"""Fields that null clears."""


def _changed_for_agents(view: EntityView) -> EntityView:
    return view.model_copy(update={"source_file": None, "content": "", "description": "", "background_jobs": None})


@writing(
    Route("PATCH", "/api/entities/{entity_id}", query=SYNCED, headers=IF_MATCH, errors=(400, 404, 409)),
    "entity_updated",
    tool=Tool("Change an entity", read_only=False, idempotent=True, omit=SYNCED, answer=_changed_for_agents),
)
def update_entity(app: App, call: Call, request: UpdateEntityRequest) -> EntityView:
    """Change the given fields of an entity; metadata is merged key by key, and null is no status.

    Send `expected_revision` to be refused if somebody changed it since you read it. The name and the readers of a
    source apply to its document chunks, too. With `sync` it answers when every healthy index shows the change.
    """
    if not any(_is_given(request, name) for name in CHANGEABLE):
        raise InvalidRequest("Nothing to change.", remediation=f"Send at least one of {', '.join(CHANGEABLE)}.")
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        entity, *followed = revise(call, tx, request)
    if request.sync:
        wait_until_visible(app, call, tx.sequence, [entity.id])
    (view,) = entity_views(app, caller, [entity])
    return view.model_copy(update={"mutation_receipt": receipt(app, call, [entity], followed)})


def revise(call: Call, tx: Transaction, request: UpdateEntityRequest, *, action: str | None = None) -> list[Entity]:
    """Store a change in an open transaction; return the entity, then the epics that followed.

    All surfaces change entities through this function. `action` is its name in events.
    """
    caller = call.caller
    given = [name for name in CHANGEABLE if _is_given(request, name)]
    values = {name: getattr(request, name) for name in given if name != "metadata"}
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    before = _present(tx, caller, request.entity_id)
    if before.entity_type == RAW_MEMORY:
        _require_labels(caller, before, given)
        labelled, revision = replace(before, **plain), request.expected_revision
        return [tx.records.update_entity(before.id, lambda _: labelled, expected_revision=revision)]
    require_writable(caller, before)
    require_source(caller, before)
    given_metadata = None if request.metadata is None else keep_hidden(tx, caller, before, request.metadata)
    if given_metadata is not None and before.metadata.get("manifest_id"):
        _require_unforged(before, given_metadata)
    require_sources(tx, caller, before, given_metadata or {})
    metadata = None if given_metadata is None else moved(before, given_metadata, tx.now)
    if metadata is not None:
        require_ending(caller, before, metadata)

    def change(current: Entity) -> Entity:
        after = replace(current, **plain)
        return after if metadata is None else _with_metadata(tx, caller, after, metadata)

    updated = tx.records.update_entity(
        request.entity_id,
        change,
        expected_revision=request.expected_revision,
        fields=workflow_fields(metadata or {}) | ({"action": action} if action else {}),
    )
    require_no_wider(tx, caller, before, updated)
    require_not_rejected(tx, [updated] if updated.content != before.content else [])
    if updated.project_id != before.project_id:
        require_entry(caller, updated)
    grant_project(tx, updated)
    changed = [*given, *(f"metadata.{key}" for key in WORKFLOW_KEYS if key in (request.metadata or {}))]
    audit_project(tx, call, "project.update", updated, {"changed": [*changed]})
    if before.visibility != updated.visibility:
        tx.relations.follow_visibility(before, updated, left=_without_right(tx, caller, updated))
    if updated.entity_type == "source":
        _carry_to_chunks(tx, before, updated)
    elif updated.entity_type in ("task", "epic"):
        _carry_beside(tx, caller, before, updated)
    contain(tx, caller, before, updated)
    if updated.source_id is not None:
        tx.records.outdate_document(updated.id)
    return [updated, *update_epics(tx, caller, before, updated)]


def _require_unforged(before: Entity, given: JsonObject) -> None:
    is_claim = before.entity_type == "procedure" and given.get("status") not in GONE
    fixed = OF_EXPERIENCE | ({"status"} if is_claim else set())
    if forged := sorted(key for key in fixed & given.keys() if given[key] != before.metadata.get(key)):
        raise ValidationFailed(
            f"{before.id} was made of an operational experience, which alone says its {', '.join(forged)}.",
            remediation="Keep the verified statement as a record of its own, or send the experience again.",
            details={"field": f"body.metadata.{forged[0]}"},
        )


def _require_labels(caller: Principal, memory: Entity, given: Sequence[str]) -> None:
    require_erasable_memory(caller, memory)
    if refused := sorted(set(given) - {"name", "tags"}):
        raise InvalidRequest(
            f"{memory.id} is a raw memory, which is kept word for word: {', '.join(refused)} cannot change.",
            remediation="Change its name or tags, or delete it and store the right text as a new record.",
            details={"field": f"body.{refused[0]}"},
        )


def _is_given(request: UpdateEntityRequest, name: str) -> bool:
    return getattr(request, name) is not None or (name in CLEARABLE and name in request.model_fields_set)


def _present(tx: Transaction, caller: Principal, entity_id: str) -> Entity:
    entity = tx.records.remains(entity_id)
    if entity is None or entity.visibility not in caller.readable:
        raise NotFound("There is no such entity.", remediation="Check the id; search and list return ids.")
    return entity


def _with_metadata(tx: Transaction, caller: Principal, entity: Entity, update: JsonObject) -> Entity:
    key = update.get("scope_key", entity.scope_key if entity.memory_scope in KEPT[1:] else None)
    update = without_stamped(update)
    scope = update.pop("memory_scope", None)
    if entity.entity_type == "project":
        update = project_scope(caller, scope, update)
    update = checked_workflow(entity.entity_type, update, current=entity.metadata)
    changed = replace(entity, metadata={**entity.metadata, **update})
    project_id = project_named(update) if "project_id" in update else entity.project_id
    if entity.entity_type == "project":
        if update.get("visibility", entity.metadata.get("visibility")) != entity.metadata.get("visibility"):
            require_scope_change(caller, entity)
        return changed
    if scope is None and project_id == entity.project_id:
        return changed
    require_scope_change(caller, entity)
    visibility = _moved(caller, entity, scope, project_id, key)
    if project_id is not None and project_id != entity.project_id:
        require_live(project_id, tx.records.entity(project_id))
    return replace(changed, project_id=project_id, **visibility.fields)


def _moved(caller: Principal, entity: Entity, scope: JsonValue, project_id: str | None, key: JsonValue) -> Visibility:
    if scope is None and entity.memory_scope in KEPT:
        scope, key = entity.memory_scope, entity.scope_key
    if scope is None and project_id is None and entity.memory_scope == "project":
        raise ValidationFailed(
            f"{entity.id} is readable as its project is; outside of it, memory_scope must say who may read it.",
            remediation="Send metadata.memory_scope, `private` or `organization`, together with the null.",
            details={"field": "body.metadata.memory_scope", "expected": "private or organization"},
        )
    place = writable_visibility(caller, scope, project_id, author_id=entity.principal_id, scope_key=key)
    if scope is None and project_id is not None and entity.visibility.startswith(members_key("")):
        return replace(place, key=members_key(project_id))
    return place


class DeleteEntityRequest(Request):
    """An entity to erase."""

    entity_id: EntityId = Field(description="The entity's id.")
    expected_revision: int | None = Field(None, ge=1, description="Refuse with 409 unless this is the revision now.")
    keep_memory: bool = Field(False, description="Keep the raw memory that `remember`, or an experience, kept with it.")


class Deleted(Result):
    """The erased entity, and the raw memories that went with it."""

    deleted: list[str]
    kept: list[str] = Field(description="What stays, with its words: the entity made of it, or what it was made of.")


@writing(
    Route("DELETE", "/api/entities/{entity_id}", status=204, headers=IF_MATCH, errors=(404, 409)),
    "entity_deleted",
    tool=Tool("Delete an entity", read_only=False, destructive=True, idempotent=True),
)
def delete_entity(app: App, call: Call, request: DeleteEntityRequest) -> Deleted:
    """Erase an entity with all its revisions and relations, and the raw memory that `remember` kept with it.

    A source takes its documents along, a task its notes, the manifest or raw memory of an experience all that was made
    of it.
    """
    caller = call.caller
    memories = app.ledger.memories.by_ids(caller.organization_id, [request.entity_id])
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        entity = tx.records.remains(request.entity_id)
        sources = [] if entity is None else sources_of(tx, entity)
        deleted = erase(app, call, tx, request)
    made = entities_made(app, caller, memories.values())
    stay = {each.id for each in sources if may_read_memory(caller, each.visibility)} - {*deleted}
    return Deleted(deleted=deleted, kept=[*made.values(), *sorted(stay)])


def _remembered(tx: Transaction, caller: Principal, entity: Entity) -> list[str]:
    kept = [each for each in tx.memories.memories_of(entity.id) if each.capture.capture_surface == REMEMBERED]
    readable = [each.entity for each in kept if may_read_memory(caller, each.entity.visibility)]
    if others := [each.id for each in readable if not may_erase_memory(caller, each)]:
        raise Forbidden(
            f"{entity.id} was remembered as {others[0]}, which its author, an owner or an admin alone may erase.",
            remediation="Ask one of them to delete it, or send keep_memory=true: then the raw memory stays.",
            details={"field": "body.keep_memory", "actual": others[0]},
        )
    return [each.id for each in readable]


def erase(app: App, call: Call, tx: Transaction, request: DeleteEntityRequest) -> list[str]:
    """Erase an entity in an open transaction; return all erased ids."""
    caller = call.caller
    entity = _present(tx, caller, request.entity_id)
    (require_erasable_memory if entity.entity_type == RAW_MEMORY else require_deletable)(caller, entity)
    require_source(caller, entity)
    if entity.source_id is not None:
        tx.records.outdate_document(entity.id)
    for note in tx.records.notes_about(entity.id) if entity.entity_type == "task" else ():
        if _is_beside(caller, note, entity):
            tx.records.delete_entity(note.id)
    source = erase_made(tx, entity)
    memories = [] if request.keep_memory else _remembered(tx, caller, entity)
    memories += [source] if source and source != entity.id and not request.keep_memory else []
    for memory in tx.memories.by_ids([entity.id, *memories]).values():
        tx.audit(remember_entry(app.accounts.home_of(caller.user_id), call, memory, action=DELETE))
    deleted = tx.records.delete_entity(request.entity_id, expected_revision=request.expected_revision)
    audit_project(tx, call, "project.delete", deleted, None)
    update_epics(tx, caller, deleted, None)
    for memory_id in memories:
        tx.records.delete_entity(memory_id)
    return [entity.id, *memories]
