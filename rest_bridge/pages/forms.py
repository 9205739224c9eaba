"""Forms of browsers and OAuth clients: names with one value each."""

from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from rest_bridge.bodies import read_body
from rest_bridge.envelope import UnsupportedMediaType
from stores.errors import ValidationFailed

FORM_LIMIT = 32 * 1024
FIELD_LIMIT = 50
_MEDIA_TYPE = "application/x-www-form-urlencoded"


async def read_form(scope: Scope, receive: Receive) -> dict[str, str]:
    media_type = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _MEDIA_TYPE:
        raise UnsupportedMediaType(
            f"The body is {media_type or 'of an unnamed type'}, and this endpoint takes a form.",
            remediation=f"Send the fields with `Content-Type: {_MEDIA_TYPE}`.",
        )
    return parse_pairs(await read_body(scope, receive, FORM_LIMIT), "form")


def parse_pairs(encoded: bytes, what: str) -> dict[str, str]:
    """Read URL-encoded pairs; an empty value counts as absent (RFC 6749, section 3.1)."""
    try:
        pairs = parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELD_LIMIT)
    except ValueError:
        raise _malformed(what) from None
    if any("\0" in name or "\0" in value for name, value in pairs):
        raise _malformed(what)
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise ValidationFailed(f"`{name[:50]}` comes more than once.", details={"field": what})
        found[name] = value
    return {name: value for name, value in found.items() if value}


def _malformed(what: str) -> ValidationFailed:
    return ValidationFailed(f"The {what} is not well-formed.", details={"field": what})
