"""Credentials in what callers write: named in the answer, replaced, or refused, as ENGRAIN_SECRETS says."""

from collections.abc import Iterator
from typing import Literal

from pydantic import JsonValue

from stores.errors import ValidationFailed
from tools.frame.operation import Operation, Request
from tools.text.credentials import redacted

SecretsPolicy = Literal["warn", "redact", "refuse"]
SHOWN = 10
_KEPT = frozenset(
    {
        "raw_content", "content", "title", "name", "description", "learnings", "fact", "goal", "metadata", "provenance",
        "entities", "documents", "relations", "experience", "revised_content", "data", "reason", "tags", "exported",
    }
)  # fmt: skip
"""Fields whose texts are stored as records."""


def screened(operation: Operation, request: Request, policy: SecretsPolicy) -> tuple[Request, list[str]]:
    """Look for credentials in what a write would keep; return the request to run and warnings for the answer.

    Raises:
        ValidationFailed: There are some, and the policy is to refuse them.
    """
    if operation.secret or operation.roles is None:
        return request, []
    kept = (request.model_fields_set & _KEPT) - operation.unscreened
    given = request.model_dump(mode="json", include=kept) if kept else {}
    found = list(dict.fromkeys(place for place, _ in credentials_in(given)))
    if not found:
        return request, []
    named = ", ".join(found[:SHOWN]) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
    if policy == "refuse":
        raise ValidationFailed(
            f"What looks like a credential stands in {named}; this server keeps none.",
            remediation="Leave it out, and say where it is kept instead.",
            details={"field": f"body.{found[0]}", "fields": [*found[:SHOWN]]},
        )
    if policy == "warn":
        warning = f"What looks like a credential is kept in {named}, for whoever may read it: change and delete it."
        return request, [warning]
    whole = request.model_dump(mode="json", exclude_unset=True)
    cleaned = {name: _cleaned(value) if name in _KEPT else value for name, value in whole.items()}
    return type(request).model_validate(cleaned), [f"What looked like a credential was replaced in {named}."]


def credentials_in(value: JsonValue, place: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield place and kinds of credentials."""
    if isinstance(value, str):
        if kinds := redacted(value)[1]:
            yield place, kinds
    elif isinstance(value, dict):
        for name, each in value.items():
            shown = redacted(name)[0]
            # With its name, because that tells what a value is.
            named = f"{name}: {each}" if isinstance(each, str) or shown != name else each
            yield from credentials_in(named, f"{place}.{shown}" if place else shown)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from credentials_in(each, f"{place}.{number}")


def _cleaned(value: JsonValue, name: str = "") -> JsonValue:
    if isinstance(value, str):
        text, count = redacted(value)
        if not count and redacted(f"{name}: {value}")[1]:
            return "[redacted]"
        return text
    if isinstance(value, dict):
        return {redacted(key)[0]: _cleaned(each, key) for key, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list) else value
