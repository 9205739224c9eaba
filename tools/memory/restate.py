"""Remembering the same content again: new titles and keys are added, other differences are named."""

from dataclasses import dataclass, replace

from pydantic import JsonValue

from auth.policy import require_writable, without_stamped
from auth.principal import Principal
from stores.errors import Forbidden
from stores.indexed_text import RETRIEVAL_KEYS
from stores.language.wording import comparable
from stores.ledger import SUPERSEDES, Transaction
from stores.records import Entity
from tools.frame.json_values import texts_in
from tools.memory.remember_models import RememberRequest
from tools.records.entity_models import KEYS_LIMIT
from tools.records.linking import referred


@dataclass(frozen=True, slots=True)
class Restated:
    """A known record after the same content was remembered again."""

    entity: Entity
    found_by: tuple[str, ...] = ()
    not_applied: tuple[str, ...] = ()


def restate(tx: Transaction, caller: Principal, entity: Entity, request: RememberRequest) -> Restated:
    """Add the request's title and keys to the retrieval keys of a known record; name its other differences.

    Title, kind and data stay, because others may rely on them; `supersedes:<id>` replaces the record.
    """
    unlike = tuple(_unlike(entity, request))
    keys = texts_in(entity.metadata.get(RETRIEVAL_KEYS))
    has = {comparable(each) for each in (entity.name, *keys)}
    wanted = {comparable(each): each for each in (request.title, *(request.retrieval_keys or ()))}
    fresh = tuple(each for folded, each in wanted.items() if folded not in has)
    if not fresh:
        return Restated(entity, not_applied=unlike)
    if len(keys) + len(fresh) > KEYS_LIMIT or not may_change(caller, entity):
        own_title = ("title",) if request.title in fresh else ()
        others = ("retrieval_keys",) if set(fresh) - {request.title} else ()
        return Restated(entity, not_applied=(*own_title, *others, *unlike))
    known: dict[str, JsonValue] = {RETRIEVAL_KEYS: list[JsonValue]([*keys, *fresh])}
    changed = tx.records.update_entity(entity.id, lambda each: replace(each, metadata=each.metadata | known))
    return Restated(changed, fresh, unlike)


def superseded_ids(request: RememberRequest) -> set[str]:
    named = (referred(each) for each in request.related_to or ())
    return {target_id for name, target_id in named if name == SUPERSEDES}


def may_change(caller: Principal, entity: Entity) -> bool:
    try:
        require_writable(caller, entity)
    except Forbidden:
        return False
    return True


def _unlike(entity: Entity, request: RememberRequest) -> list[str]:
    sent, metadata = request.model_fields_set, entity.metadata
    spans = [{"start": span.start, "end": span.end} for span in request.spans or ()]
    given = without_stamped(request.metadata or {})
    differs = {
        "kind": "kind" in sent and request.kind != entity.entity_type,
        "domain": request.domain not in (None, metadata.get("domain")),
        "project": request.project not in (None, entity.project_id),
        "tags": not set(request.tags or ()) <= set(entity.tags),
        "metadata": any(metadata.get(name) != value for name, value in given.items() if name != "memory_scope"),
        "spans": bool(spans) and spans != metadata.get("spans"),
    }
    return [field for field, is_other in differs.items() if is_other]
