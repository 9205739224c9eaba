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
        return self.text("kind") or "claim"

    @property
    def entity_type(self) -> Kind | Remembrance:
        return cast("Kind | Remembrance", self.kind) if self.kind in _KINDS else "claim"

    @property
    def title(self) -> str:
        return (self.text("title") or self.memory.entity.name or self.kind)[:NAME_LIMIT]

    @property
    def content(self) -> str:
        return (self.text("content") or self.memory.entity.content)[:CONTENT_LIMIT]

    @property
    def statement(self) -> Statement:
        return Statement(as_said(self.title, self.content), self.kind, self.project, self.raw_source_ids)

    @property
    def confidence(self) -> float | None:
        found = self.said.get("confidence")
        return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None

    @property
    def tags(self) -> list[str]:
        return [tag for tag in self.texts("tags") if len(tag) <= LABEL_LIMIT][:LABELS_LIMIT]

    @property
    def sensitivity_flags(self) -> list[str]:
        return list(dict.fromkeys([*self.texts("sensitivity_flags"), *sensitivity_flags(self.content)]))

    @property
    def raw_source_ids(self) -> list[str]:
        return self.texts("raw_source_ids")

    @property
    def suggested_scope(self) -> MemoryScope | None:
        found = self.said.get("suggested_memory_scope")
        return next((scope for scope in MEMORY_SCOPES if scope == found), None)

    @property
    def project(self) -> str | None:
        return self.text("project") or self.memory.entity.project_id

    @property
    def details(self) -> JsonObject:
        found = self.said.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def stored_standings(self) -> list[JsonValue]:
        found = self.said.get("reflection_findings")
        return [each.get("kind") for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def text(self, name: str) -> str | None:
        found = self.said.get(name)
        return found if isinstance(found, str) and found.strip() else None

    def texts(self, name: str) -> list[str]:
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
    found = [source for each in dict.fromkeys(named) if (source := read(each)) is not None]
    there = {each.entity.id: each for each in found if may_read_memory(caller, each.entity.visibility)}
    return Candidate(memory, list(there.values()), [each for each in dict.fromkeys(named) if each not in there])
