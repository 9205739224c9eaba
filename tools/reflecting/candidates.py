"""Reflection candidates: raw memories that propose a record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from pydantic import JsonValue

from auth.memory_policy import may_read_memory
from auth.policy import MEMORY_SCOPES, MemoryScope
from auth.principal import Principal
from stores.errors import NotFound
from stores.records import JsonObject, RawMemory
from tools.frame.json_values import texts_in
from tools.memory.remember_models import Remembrance
from tools.records.entity_models import CONTENT_LIMIT, LABEL_LIMIT, LABELS_LIMIT, NAME_LIMIT
from tools.reflecting.duplicates import Statement
from tools.reflecting.reflection import KINDS, Kind, sensitivity_flags
from tools.reflecting.reflection.stating import as_said

Read = Callable[[str], RawMemory | None]
_KINDS = (*KINDS, *get_args(Remembrance))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate and its readable sources; `lost_sources` are gone or unreadable."""

    memory: RawMemory
    sources: Sequence[RawMemory]
    lost_sources: Sequence[str]

    @property
    def id(self) -> str:
        return self.memory.entity.id

    @property
    def said(self) -> JsonObject:
        return self.memory.capture.candidate or {}

    @property
    def kind(self) -> str:
        return _text(self.said.get("kind")) or "claim"

    @property
    def entity_type(self) -> Kind | Remembrance:
        return cast("Kind | Remembrance", self.kind) if self.kind in _KINDS else "claim"

    @property
    def title(self) -> str:
        return (_text(self.said.get("title")) or self.memory.entity.name or self.kind)[:NAME_LIMIT]

    @property
    def content(self) -> str:
        return (_text(self.said.get("content")) or self.memory.entity.content)[:CONTENT_LIMIT]

    @property
    def statement(self) -> Statement:
        return Statement(as_said(self.title, self.content), self.kind, self.project, self.raw_source_ids)

    @property
    def confidence(self) -> float | None:
        found = self.said.get("confidence")
        return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None

    @property
    def tags(self) -> list[str]:
        return [tag for tag in self._texts("tags") if len(tag) <= LABEL_LIMIT][:LABELS_LIMIT]

    @property
    def sensitivity_flags(self) -> list[str]:
        return list(dict.fromkeys([*self._texts("sensitivity_flags"), *sensitivity_flags(self.content)]))

    @property
    def raw_source_ids(self) -> list[str]:
        return self._texts("raw_source_ids")

    @property
    def suggested_scope(self) -> MemoryScope | None:
        found = self.said.get("suggested_memory_scope")
        return next((scope for scope in MEMORY_SCOPES if scope == found), None)

    @property
    def suggested_key(self) -> str | None:
        return _text(self.said.get("suggested_scope_key"))

    @property
    def domain(self) -> str | None:
        return _text(self.said.get("domain"))

    @property
    def project(self) -> str | None:
        return _text(self.said.get("project")) or self.memory.entity.project_id

    @property
    def related_to(self) -> list[str]:
        """Proposed relations, each plain or as `relationship:id`."""
        return self._texts("related_to")

    @property
    def task_ids(self) -> list[str]:
        return self._texts("task_ids")

    @property
    def details(self) -> JsonObject:
        found = self.said.get("metadata")
        return found if isinstance(found, dict) else {}

    def stored_standings(self) -> list[str]:
        found = self.said.get("reflection_findings")
        kinds = [each.get("kind") for each in found if isinstance(each, dict)] if isinstance(found, list) else []
        return [kind for kind in kinds if isinstance(kind, str)]

    def _texts(self, name: str) -> list[str]:
        return texts_in(self.said.get(name))


def candidate_for(caller: Principal, candidate_id: str, read: Read) -> Candidate:
    memory = read(candidate_id)
    if memory is None or not may_read_memory(caller, memory.entity.visibility):
        raise NotFound(
            f"reflection_candidate_not_found: reflection candidate not found: {candidate_id}.",
            remediation="List those that wait with GET /api/entities/captures?entity_type=reflection_candidate.",
            details={"field": "body.candidate_id"},
        )
    named = Candidate(memory, (), ()).raw_source_ids
    found = {each: read(each) for each in dict.fromkeys(named)}
    there = {
        each: source
        for each, source in found.items()
        if source is not None and may_read_memory(caller, source.entity.visibility)
    }
    return Candidate(memory, list(there.values()), [each for each in found if each not in there])


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
