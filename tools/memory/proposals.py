"""Candidates without references to records that are gone or hidden from the reader."""

from collections.abc import Iterable

from pydantic import JsonValue

from auth.principal import Principal
from stores.records import JsonObject, RawMemory
from tools.app import App
from tools.frame.json_values import texts_in

_FINDINGS, _RELATIONS, _CLAIMS = "reflection_findings", "relationship_records", "claim_records"
_OF_CLAIMS = ("supports_source_ids", "contradicts_source_ids", "supersedes_source_ids")
_RETIRED_BY = "superseded_by_source_id"


def proposals(app: App, caller: Principal, memories: Iterable[RawMemory]) -> dict[str, JsonObject]:
    """Return the candidates among some raw memories, by id, as the caller may see them. Blocks."""
    stored = {each.entity.id: each.capture.candidate for each in memories if each.capture.candidate is not None}
    named = {each for candidate in stored.values() for each in _named(candidate)}
    there = app.ledger.records.statuses(caller.organization_id, named, visibility=caller.visible) if named else {}
    sight = caller.readable
    shown = {each for each, standing in there.items() if standing.visibility in sight}
    return {memory_id: _without(candidate, named - shown) for memory_id, candidate in stored.items()}


def _named(candidate: JsonObject) -> set[str]:
    found = set[str]()
    for item in _items(candidate, _FINDINGS):
        found |= {*texts_in([item.get("target_source_id")]), *texts_in(item.get("related_source_ids"))}
    for item in _items(candidate, _RELATIONS):
        found |= set(texts_in([item.get("target_id")]))
    for item in _items(candidate, _CLAIMS):
        found |= {each for key in _OF_CLAIMS for each in texts_in(item.get(key))}
        found |= set(texts_in([item.get(_RETIRED_BY)]))
    return found


def _without(candidate: JsonObject, hidden: set[str]) -> JsonObject:
    if not hidden:
        return candidate
    findings: list[JsonValue] = [
        item
        for item in _items(candidate, _FINDINGS)
        if hidden.isdisjoint([*texts_in([item.get("target_source_id")]), *texts_in(item.get("related_source_ids"))])
    ]
    relations: list[JsonValue] = [
        item for item in _items(candidate, _RELATIONS) if hidden.isdisjoint(texts_in([item.get("target_id")]))
    ]
    claims: list[JsonValue] = [_claim(item, hidden) for item in _items(candidate, _CLAIMS)]
    return {**candidate, _FINDINGS: findings, _RELATIONS: relations, _CLAIMS: claims}


def _claim(claim: JsonObject, hidden: set[str]) -> JsonObject:
    kept: JsonObject = {
        key: [each for each in texts_in(claim.get(key)) if each not in hidden] for key in _OF_CLAIMS if key in claim
    }
    by = claim.get(_RETIRED_BY)
    return {**claim, **kept, _RETIRED_BY: None if by in hidden else by}


def _items(candidate: JsonObject, key: str) -> list[JsonObject]:
    values = candidate.get(key)
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []
