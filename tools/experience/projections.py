"""Records that are made of an experience: a manifest, a procedure and a session for each step. Pure."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from stores.records import JsonObject
from tools.experience.payload import EvidencePart, Experience, Observation
from tools.packs.selection import UNVERIFIED
from tools.records.entity_models import CONTENT_LIMIT, NAME_LIMIT
from tools.text.plain import one_line

STEP_LIMIT = 500
"""Characters of a step in the manifest and the procedure."""


@dataclass(frozen=True, slots=True)
class Projection:
    """Record to keep for a source; its digest tells if it has changed."""

    id: str
    entity_type: str
    name: str
    content: str
    category: str | None = None
    metadata: JsonObject = field(default_factory=dict)

    @property
    def digest(self) -> str:
        said = [self.entity_type, self.name, self.content, self.category, self.metadata]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


class Edge(NamedTuple):
    """Relation to keep for a source."""

    name: str
    source_id: str
    target_id: str

    @property
    def key(self) -> str:
        return "|".join(self)


def record_id(entity_type: str, *names: str) -> str:
    """Return the id of a record of a source, the same in every revision."""
    return f"{entity_type}_{hashlib.sha256(json.dumps(names).encode()).hexdigest()[:16]}"


def manifest_id(source_id: str) -> str:
    return record_id("artifact", source_id)


def session_id(source_id: str, observation_id: str) -> str:
    return record_id("session", source_id, observation_id)


def projections(experience: Experience) -> Iterator[Projection]:
    """Yield the manifest first, then the procedure and the sessions in the order of the steps."""
    source_id, steps = experience.source_id, experience.steps
    outcome = f"Reported outcome, not verified: {experience.outcome}" if experience.outcome else ""
    goal, told = experience.goal, [_told(step) for step in steps]
    about: JsonObject = {"source_id": source_id, "manifest_id": manifest_id(source_id), "outcome_verified": False}
    counts: JsonObject = {
        "observations": len(steps),
        "evidence_parts": sum(len(step.evidence) for step in steps),
        "start_uri": experience.start_uri,
    }
    yield Projection(
        manifest_id(source_id), "artifact", _name(goal, source_id), _fitting(f"Goal: {goal}", outcome, *told),
        "operational_experience", about | counts,
    )  # fmt: skip
    yield Projection(
        record_id("procedure", source_id), "procedure", _name(f"Tried: {goal}", source_id),
        _fitting(f"Steps that were tried for: {goal}", *told, outcome), "operational_experience",
        about | {"status": UNVERIFIED},
    )  # fmt: skip
    for number, step in enumerate(steps, start=1):
        place: JsonObject = {"observation_id": step.id, "ordinal": step.ordinal, "uri": step.uri}
        yield Projection(
            session_id(source_id, step.id), "session", _name(f"{number}. {step.action or _seen(step)}", step.id),
            _session(step), "operational_experience", about | place,
        )  # fmt: skip


def edges(experience: Experience) -> list[Edge]:
    manifest, procedure = manifest_id(experience.source_id), record_id("procedure", experience.source_id)
    found = [Edge("DERIVED_FROM", procedure, manifest)]
    for step in experience.steps:
        session = session_id(experience.source_id, step.id)
        found += [Edge("PART_OF", session, manifest), Edge("USES_PROCEDURE", session, procedure)]
    return found


def _told(step: Observation) -> str:
    told = one_line(step.action or _seen(step), STEP_LIMIT) or one_line(step.id, STEP_LIMIT)
    return f"{step.ordinal}. {told}" + (f" ({one_line(step.uri, STEP_LIMIT)})" if step.uri else "")


def _seen(step: Observation) -> str:
    return step.evidence[0].content[:STEP_LIMIT]


def _session(step: Observation) -> str:
    head = _fitting(
        *(f"{label}: {text}" for label, text in
          (("Action", step.action), ("Reasoning", step.reasoning), ("Where", step.uri)) if text)
    )  # fmt: skip
    room, parts = CONTENT_LIMIT - len(head), list[str]()
    for place, part in enumerate(step.evidence):
        parts.append(_excerpt(part, max(room // (len(step.evidence) - place) - 2, 0)))
        room -= len(parts[-1]) + 2
    return "\n\n".join([*([head] if head else []), *parts])[:CONTENT_LIMIT]


def _excerpt(part: EvidencePart, limit: int) -> str:
    whole = f"[{part.id}] {part.content}"
    if len(whole) <= limit:
        return whole
    mark = f"… ({len(part.content)} characters)"
    return whole[: max(limit - len(mark), 0)] + mark if limit > len(mark) else ""


def _fitting(*paragraphs: str) -> str:
    text = "\n".join(each for each in paragraphs if each)
    return text if len(text) <= CONTENT_LIMIT else text[: CONTENT_LIMIT - 1] + "…"


def _name(text: str, instead: str) -> str:
    return one_line(text, NAME_LIMIT) or one_line(instead, NAME_LIMIT) or "Experience"
