"""Payload of an operational experience: fields, bounds, outline and content hash."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from stores.records import JsonObject
from tools.frame.operation import Request

PARTS_LIMIT = 4096
EVIDENCE_LIMIT = 64 * 1024 * 1024
"""Characters of all evidence."""
REST_LIMIT = 8 * 1024 * 1024
"""Characters of everything else, as compact JSON."""

Identifier = Annotated[str, StringConstraints(min_length=1, max_length=2048)]
Narrative = Annotated[str, StringConstraints(max_length=18_000)]
Uri = Annotated[str, StringConstraints(max_length=8192)]


class Reported(Request, extra="forbid"):
    """Base of the payload's parts, which have no other fields than these."""


class EvidencePart(Reported):
    """Something that was seen, verbatim."""

    id: Identifier = Field(description="Its id within the observation; notes cite it.")
    content: Annotated[str, StringConstraints(max_length=1_000_000)] = Field(description="The text, kept verbatim.")
    content_type: Annotated[str, StringConstraints(max_length=256)] = Field("text/plain", description="Its media type.")
    metadata: JsonObject = Field({}, description="Further structured data.")


class Observation(Reported):
    """One step: what was done, and what was seen."""

    id: Identifier = Field(description="Its id within the experience.")
    ordinal: int = Field(ge=0, le=2**53 - 1, description="Its place in the run.")
    uri: Uri | None = Field(None, description="Place: a page, a file, a host.")
    action: Narrative | None = Field(None, description="Command or other action.")
    reasoning: Narrative | None = Field(None, description="Why it was done.")
    evidence: Annotated[list[EvidencePart], Field(min_length=1, max_length=256)] = Field(description="Observations.")
    image_refs: Annotated[list[Uri], Field(max_length=256)] = Field([], description="Addresses of images.")
    metadata: JsonObject = Field({}, description="Further structured data.")


class Experience(Reported):
    """A run towards a goal, as its source reports it."""

    source_id: Identifier = Field(description="The run's own id; sending it again revises the run.")
    goal: Annotated[str, StringConstraints(min_length=1, max_length=18_000)] = Field(description="Goal of the run.")
    outcome: Narrative | None = Field(None, description="Reported outcome; kept as unverified.")
    start_uri: Uri | None = Field(None, description="Place where it began.")
    observations: Annotated[list[Observation], Field(min_length=1, max_length=1024)] = Field(
        description="The steps of the run."
    )
    project_id: Identifier | None = Field(None, description="The project that it belongs to; required.")
    scope_key: Identifier | None = Field(None, description="The source's own grouping; kept, without effect on rights.")
    metadata: JsonObject = Field({}, description="Further structured data.")

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        _require_distinct((each.id for each in self.observations), "observations")
        for step in self.observations:
            _require_distinct((each.id for each in step.evidence), f"evidence parts of the observation {step.id[:80]}")
        parts = sum(len(step.evidence) for step in self.observations)
        if parts > PARTS_LIMIT:
            raise ValueError(f"it has {parts} evidence parts, and {PARTS_LIMIT} are accepted")
        characters = sum(map(len, self.texts()))
        if characters > EVIDENCE_LIMIT:
            raise ValueError(f"its evidence has {characters} characters, and {EVIDENCE_LIMIT} are accepted")
        rest = len(_compact(self._without_texts()))
        if rest > REST_LIMIT:
            raise ValueError(f"without evidence it has {rest} characters, and {REST_LIMIT} are accepted")
        return self

    @property
    def steps(self) -> list[Observation]:
        """Observations by their place in the run."""
        return sorted(self.observations, key=lambda each: each.ordinal)

    def texts(self) -> Iterator[str]:
        """Yield the evidence in the order of the steps."""
        return (part.content for step in self.steps for part in step.evidence)

    def outline(self) -> JsonObject:
        """Return the payload with the size and SHA-256 of each evidence part instead of its text."""
        found, texts = self._without_texts(), self.texts()
        found["observations"].sort(key=lambda each: each["ordinal"])
        for part in (part for step in found["observations"] for part in step["evidence"]):
            text = next(texts)
            part |= {"characters": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
        return found

    def _without_texts(self) -> dict[str, Any]:
        return self.model_dump(
            mode="json", exclude={"observations": {"__all__": {"evidence": {"__all__": {"content"}}}}}
        )


class RecordExperienceRequest(Reported):
    """A run to keep."""

    experience: Experience = Field(description="The run: its goal, its steps, and the observations of each.")
    defer_embeddings: bool = Field(
        True, description="Answer when it is durable and found by its words; vectors follow. Else wait for all indexes."
    )
    note_distillation: bool = Field(True, description="Distil short notes from it in the background.")


def content_hash(outline: JsonObject) -> str:
    """Return the SHA-256 of the whole payload in hexadecimal, the same for every order of its fields."""
    return hashlib.sha256(_compact(outline).encode()).hexdigest()


def _compact(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _require_distinct(ids: Iterable[str], what: str) -> None:
    again = next((each for each, times in Counter(ids).items() if times > 1), None)
    if again is not None:
        raise ValueError(f"two {what} have the id {again[:80]}")
