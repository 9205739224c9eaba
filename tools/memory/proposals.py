"""Candidates without references to records that are gone or hidden from the reader."""

from collections.abc import Iterable

from pydantic import JsonValue

from auth.principal import Principal
from stores.records import JsonObject, RawMemory
from tools.app import App
from tools.frame.json_values import texts_in

_CLAIMS, _RETIRED_BY = "claim_records", "superseded_by_source_id"
_OF_CLAIMS = ("supports_source_ids", "contradicts_source_ids", "supersedes_source_ids")
_NAMING = {
    "reflection_findings": ("target_source_id", "related_source_ids"),
    "relationship_records": ("target_id",),
    _CLAIMS: (*_OF_CLAIMS, _RETIRED_BY),
}
"""Keys that hold ids of records, by part of a candidate."""


def proposals(app: App, caller: Principal, memories: Iterable[RawMemory]) -> dict[str, JsonObject]:
    """Return the candidates among some raw memories, by id, as the caller may see them. Blocks."""
    stored = {each.entity.id: each.capture.candidate for each in memories if each.capture.candidate is not None}
    parts = ((part, item) for each in stored.values() for part in _NAMING for item in _items(each, part))
    named = {each for part, item in parts for each in _ids(item, part)}
    there = app.ledger.records.statuses(caller.organization_id, named, visibility=caller.visible) if named else {}
    shown = {each for each, standing in there.items() if standing.visibility in caller.readable}
    return {memory_id: _without(candidate, named - shown) for memory_id, candidate in stored.items()}


def _ids(item: JsonObject, part: str) -> set[str]:
    values = (item.get(key) for key in _NAMING[part])
    return {each for value in values for each in texts_in(value if isinstance(value, list) else [value])}


def _without(candidate: JsonObject, hidden: set[str]) -> JsonObject:
    if not hidden:
        return candidate
    kept: JsonObject = {
        part: [item for item in _items(candidate, part) if hidden.isdisjoint(_ids(item, part))]
        for part in _NAMING.keys() - {_CLAIMS}
    }
    claims: list[JsonValue] = [_claim(item, hidden) for item in _items(candidate, _CLAIMS)]
    return {**candidate, **kept, _CLAIMS: claims}


def _claim(claim: JsonObject, hidden: set[str]) -> JsonObject:
    kept: JsonObject = {
        key: [each for each in texts_in(claim.get(key)) if each not in hidden] for key in _OF_CLAIMS if key in claim
    }
    by = claim.get(_RETIRED_BY)
    return {**claim, **kept, _RETIRED_BY: None if by in hidden else by}


def _items(candidate: JsonObject, key: str) -> list[JsonObject]:
    values = candidate.get(key)
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []
