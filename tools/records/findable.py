"""Metadata that helps to find a record: retrieval keys, spans that matter, and probes."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, JsonValue, StringConstraints

from stores.errors import ValidationFailed
from stores.indexed_text import RETRIEVAL_KEYS
from stores.records import JsonObject
from tools.frame.json_values import without_none
from tools.frame.operation import Request

SPANS_LIMIT = 100
KEYS_LIMIT = 50
PROBES_LIMIT = 20

Probe = Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=r"\S")]
RetrievalKey = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]


class Span(Request):
    """`content[start:end]`."""

    start: int = Field(ge=0)
    end: int = Field(ge=1)


RetrievalKeys = Annotated[
    Annotated[list[RetrievalKey], Field(max_length=KEYS_LIMIT)] | None,
    Field(description="Further words by which it is to be found: synonyms, codes, names."),
]
Spans = Annotated[
    Annotated[list[Span], Field(max_length=SPANS_LIMIT)] | None,
    Field(description="Parts of the content that matter, in characters."),
]
Probes = Annotated[list[Probe], Field(max_length=PROBES_LIMIT)] | None


def require_spans(spans: Sequence[Span] | None, content: str) -> None:
    for number, span in enumerate(spans or ()):
        if not span.start < span.end <= len(content):
            raise ValidationFailed(
                f"spans.{number} is from {span.start} to {span.end}, which is no part of content.",
                remediation=f"Count in characters: start before end, and end at most {len(content)}.",
                details={"field": f"body.spans.{number}", "expected": "a range of the content"},
            )


def findable_metadata(
    keys: Sequence[str] | None, spans: Sequence[Span] | None, probes: Sequence[str] | None
) -> JsonObject:
    return without_none(
        {
            RETRIEVAL_KEYS: list[JsonValue](keys or ()) or None,
            "spans": [{"start": span.start, "end": span.end} for span in spans or ()] or None,
            "probes": list[JsonValue](probes or ()) or None,
        }
    )
