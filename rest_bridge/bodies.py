"""Request bodies, read up to a limit and parsed: JSON objects and forms."""

import json

from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope

from rest_bridge.envelope import UnsupportedMediaType
from rest_bridge.query_strings import read_pairs
from stores.errors import PayloadTooLarge, ValidationFailed
from stores.records import JsonObject
from tools.frame.parsing import refuse_unstorable

FORM = "application/x-www-form-urlencoded"
FORM_LIMIT = 32 * 1024
FIELD_LIMIT = 50


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    if announced_size(scope) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    size = 0
    async for chunk in Request(scope, receive).stream():
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


def announced_size(scope: Scope, unknown: int = 0) -> int:
    announced = Headers(scope=scope).get("content-length", "")
    return int(announced) if announced.isascii() and announced.isdigit() else unknown


def _too_large(limit: int) -> PayloadTooLarge:
    size = f"{limit // 1024**2} MiB" if limit >= 1024**2 else f"{limit} bytes"
    return PayloadTooLarge(f"The body is larger than the {size} that this endpoint takes.")


def is_form(content_type: str | None) -> bool:
    return (content_type or "").partition(";")[0].strip().lower() == FORM


def parse_object(body: bytes, content_type: str | None) -> JsonObject:
    """Read a JSON object; an empty body is an empty object, a missing content type means JSON."""
    if not body:
        return {}
    media_type = (content_type or "application/json").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise UnsupportedMediaType(f"The body is {media_type or 'of an unnamed type'}, and this endpoint takes JSON.")
    try:
        data = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        refuse_unstorable(parse_leniently(body), "body")
        raise _malformed(f"The body is not well-formed JSON: {error}.", "JSON") from None
    if not isinstance(data, dict):
        raise _malformed("The body must be a JSON object.", "object")
    return data


def parse_leniently(body: bytes) -> object:
    """Read JSON that may hold lone surrogates; None if it is none, or nested deeper than is read elsewhere."""
    try:
        value: object = json.loads(body.decode(errors="surrogatepass"))
        from_json(encode_readably(value))
        return value
    except (ValueError, RecursionError):
        return None


def encode_readably(value: object) -> bytes:
    """Write JSON with a question mark for each lone surrogate."""
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def _malformed(message: str, expected: str) -> ValidationFailed:
    return ValidationFailed(message, details={"field": "body", "expected": expected})


async def read_form(scope: Scope, receive: Receive) -> dict[str, str]:
    content_type = Headers(scope=scope).get("content-type", "")
    if not is_form(content_type):
        raise UnsupportedMediaType(
            f"The body is {content_type or 'of an unnamed type'}, and this endpoint takes a form.",
            remediation=f"Send the fields with `Content-Type: {FORM}`.",
        )
    return parse_pairs(await read_body(scope, receive, FORM_LIMIT), "form")


def parse_pairs(encoded: bytes, what: str) -> dict[str, str]:
    """Read URL-encoded pairs; an empty value counts as absent (RFC 6749, section 3.1)."""
    found = read_pairs(encoded, what, FIELD_LIMIT)
    for name, values in found.items():
        if len(values) > 1:
            raise ValidationFailed(f"`{name[:50]}` comes more than once.", details={"field": what})
        if "\0" in name + values[0]:
            raise ValidationFailed(f"The {what} is not well-formed.", details={"field": what})
    return {name: value for name, (value,) in found.items() if value}
