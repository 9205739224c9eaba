"""Storing new entities, used by every operation that creates some."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from auth.policy import Visibility, require_entry, require_whole, without_stamped, writable_visibility
from auth.principal import Principal
from auth.visibility import project_key
from stores.clock import NeighbouringIds
from stores.ledger import Transaction
from stores.records import Entity, EntityDraft, JsonObject, searchable_text
from tools.app import App
from tools.frame.operation import Call
from tools.frame.threads import in_thread
from tools.records.containment import stated_links
from tools.records.derivation import link, narrowed, source_of
from tools.records.entity_models import BackgroundJobs, EntityFields
from tools.records.linking import Link, record, related
from tools.records.projects import audit_project, grant_project, project_named, project_scope, require_live
from tools.records.trust import TRUST, TrustState, require_not_rejected
from tools.records.workflow import moved, update_epics, with_defaults, workflow_fields

SYNC_TIMEOUT_S = 20.0
LONG_TEXT, LONG_TEXT_TIMEOUT_S = 10_000, 1.5
"""Characters of a record that may take the embedding model longer than callers wait."""
BARE_IDS = ("task", "document")


def store(
    app: App, call: Call, requests: Sequence[EntityFields], *, sync: bool, deferred: bool
) -> tuple[list[Entity], int]:
    """Write entities with their relations; return them with their position in the feed. Blocks."""
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim, deferred=deferred) as tx:
        entities = store_in(call, tx, requests, sync=sync)
    return entities, tx.sequence


def store_in(  # noqa: PLR0913 - three are for the derived, the trusted and the imported ones
    call: Call,
    tx: Transaction,
    requests: Sequence[EntityFields],
    *,
    sync: bool,
    made_of: Collection[Entity | Visibility] = (),
    trust: TrustState | None = None,
    ids: NeighbouringIds | None = None,
) -> list[Entity]:
    """Write entities with their relations in an open transaction.

    `made_of` holds the raw memories they are made of, or the visibility that an unstored one would have; no more people
    may read the entities. A raw memory named by `metadata.raw_memory_id` counts too, and is linked.
    """
    caller = call.caller
    ids = ids or NeighbouringIds()
    drafts = [draft_of(caller, fields, ids) for fields in requests]
    for project_id in {draft.project_id for draft in drafts} - {None}:
        require_live(str(project_id), tx.records.entity(str(project_id)))
    require_not_rejected(tx, drafts)
    sources = [source_of(tx, caller, draft) for draft in drafts]
    mode = "sync" if sync else "async"
    trusted: JsonObject = {} if trust is None else {TRUST: trust}
    entities = tx.records.create_entities(
        [
            (
                replace(
                    narrowed(caller, draft, [*made_of, *([] if source is None else [source.entity])]),
                    metadata=moved(draft, draft.metadata, tx.now) | trusted,
                ),
                {"mode": mode, **workflow_fields(draft.metadata)},
            )
            for draft, source in zip(drafts, sources, strict=True)
        ]
    )
    links: list[Link] = []
    for fields, entity, source in zip(requests, entities, sources, strict=True):
        require_entry(caller, entity)
        grant_project(tx, entity)
        audit_project(tx, call, "project.create", entity, None)
        if source is not None:
            link(tx, caller, source, entity)
        links += related(entity, fields.related_to or ()) + stated_links(None, entity)
    record(tx, caller, links, created={entity.id for entity in entities})
    for entity in entities:
        update_epics(tx, caller, None, entity)
    return entities


async def until_visible(app: App, caller: Principal, sequence: int, ids: Sequence[str] = ()) -> BackgroundJobs:
    """Wait at most 20 s, or 1.5 s for a long text, until every healthy index shows a write; name those that do not.

    Vectors count for the given ids only, and token vectors never do.
    """

    def has_long_text() -> bool:
        found = app.ledger.records.entities(caller.organization_id, ids).values()
        return any(len(searchable_text(entity)) > LONG_TEXT for entity in found)

    pending = await app.indexer.applied_within(caller.organization_id, sequence, ids, LONG_TEXT_TIMEOUT_S)
    if pending and not await in_thread(has_long_text):
        rest_s = SYNC_TIMEOUT_S - LONG_TEXT_TIMEOUT_S
        pending = await app.indexer.applied_within(caller.organization_id, sequence, ids, rest_s)
    return BackgroundJobs(pending_indexes=sorted(pending))


def wait_until_visible(app: App, call: Call, sequence: int, ids: Sequence[str] = ()) -> None:
    """Let the answer wait as `until_visible` does, and tell the result as its `background_jobs`."""

    async def wait() -> dict[str, BackgroundJobs]:
        return {"background_jobs": await until_visible(app, call.caller, sequence, ids)}

    call.then(wait)


def draft_of(caller: Principal, fields: EntityFields, ids: NeighbouringIds) -> EntityDraft:
    """Draft an entity in the scope and project that its metadata names, if the caller may write there."""
    metadata = without_stamped(fields.metadata or {})
    scope = metadata.pop("memory_scope", None)
    project_id = project_named(metadata)
    entity_id = ids.uuid() if fields.entity_type in BARE_IDS else ids.typed(fields.entity_type)
    if fields.entity_type == "project":
        require_whole(caller, "Making projects")
        project_id, metadata = None, project_scope(caller, scope, metadata)
        visibility = Visibility(project_key(entity_id), "project", entity_id)
    else:
        visibility = writable_visibility(caller, scope, project_id, scope_key=(fields.metadata or {}).get("scope_key"))
    return EntityDraft(
        id=entity_id,
        entity_type=fields.entity_type,
        name=fields.name,
        description=fields.description or "",
        content=fields.content or "",
        category=fields.category,
        languages=tuple(fields.languages or ()),
        tags=tuple(fields.tags or ()),
        metadata=with_defaults(fields.entity_type, metadata),
        **visibility.fields,
        project_id=project_id,
    )
