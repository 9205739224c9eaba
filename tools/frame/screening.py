"""Credentials in written text: named in the answer, replaced, or refused, as ENGRAIN_SECRETS says."""

from typing import Literal

from pydantic import JsonValue

from stores.errors import ValidationFailed
from tools.frame.operation import Operation, Request
from tools.text.credentials import REDACTED, redacted

SecretsPolicy = Literal["warn", "redact", "refuse"]
Found = list[tuple[str, list[str]]]
"""Place and kinds of credentials."""
SHOWN = 10
_KEPT = frozenset(
    {
        "raw_content", "content", "title", "name", "description", "learnings", "fact", "goal", "metadata", "provenance",
        "entities", "documents", "relations", "experience", "revised_content", "data", "reason", "tags", "exported",
    }
)  # fmt: skip
"""Fields whose texts are stored as records."""


def screened(operation: Operation, request: Request, policy: SecretsPolicy) -> tuple[Request, list[str]]:
    """Look for credentials in the text of a write; return the request to run and warnings for the answer.

    Raises:
        ValidationFailed: There are some, and the policy is to refuse them.
    """
    if operation.secret or operation.roles is None:
        return request, []
    given, found = request.model_dump(mode="json", exclude_unset=True), Found()
    kept = given.keys() & _KEPT - operation.unscreened
    clean = {name: cleaned(value, found, name, name) for name, value in given.items() if name in kept}
    if not found:
        return request, []
    places = list(dict.fromkeys(place for place, _ in found))
    named = ", ".join(places[:SHOWN]) + (f" and {len(places) - SHOWN} more" if len(places) > SHOWN else "")
    if policy == "refuse":
        raise ValidationFailed(
            f"Text that looks like a credential is in {named}; this server stores none.",
            remediation="Leave it out, and say where it is kept instead.",
            details={"field": f"body.{places[0]}", "fields": [*places[:SHOWN]]},
        )
    if policy == "warn":
        warning = f"Text like a credential is kept in {named}, where its readers see it: change and delete it."
        return request, [warning]
    replaced = type(request).model_validate(given | clean)
    return replaced, [f"Text that looked like a credential was replaced in {named}."]


def cleaned(value: JsonValue, found: Found, place: str = "", name: str = "") -> JsonValue:
    """Replace credentials in texts and keys, and add them to `found`."""
    if isinstance(value, str):
        # With its name, because that tells what a value is.
        if not (kinds := redacted(f"{name}: {value}" if name else value)[1]):
            return value
        found.append((place, kinds))
        text, kinds = redacted(value)
        return text if kinds else REDACTED
    if isinstance(value, list):
        return [cleaned(each, found, f"{place}.{number}") for number, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    clean: dict[str, JsonValue] = {}
    for key, each in value.items():
        shown, kinds = redacted(key)
        inside = f"{place}.{shown}" if place else shown
        if kinds and not isinstance(each, str):
            found.append((inside, kinds))
        clean[shown] = cleaned(each, found, inside, key)
    return clean
