"""Request bodies, read up to a limit and parsed: JSON objects and forms."""

import json
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import IO
from urllib.parse import parse_qsl

from pydantic import BaseModel, JsonValue
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope

from rest_bridge.envelope import UnsupportedMediaType
from stores.errors import PayloadTooLarge, ValidationFailed
from stores.records import JsonObject
from tools.frame.parsing import refuse_unstorable

_INTEGER = re.compile(r"[+-]?\d{1,400}", re.ASCII)
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


def read_query(scope: Scope) -> dict[str, list[str]]:
    return read_pairs(scope.get("query_string", b""), "query")


def read_pairs(encoded: bytes, place: str, most: int | None = None) -> dict[str, list[str]]:
    """Read URL-encoded pairs: the values of each name, in order."""
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:
        named = "query string" if place == "query" else "form"
        raise ValidationFailed(
            f"The {named} is not valid UTF-8, or has too many fields.",
            details={"field": place, "expected": "percent-encoded UTF-8"},
        ) from None
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


class Coercion:
    """Converts the strings of paths, queries and forms to the types of a request model: texts, integers, booleans."""

    def __init__(self, model: type[BaseModel]) -> None:
        fields = model.model_json_schema().get("properties", {})
        self.types = {
            name: {option.get("type") for option in (field, *field.get("anyOf", ()))} for name, field in fields.items()
        }

    def one(self, name: str, raw: str) -> JsonValue:
        """Convert a string to the type of its field; validation refuses one that does not fit."""
        if "boolean" in self.types[name] and raw.lower() in _TRUE | _FALSE:
            return raw.lower() in _TRUE
        return int(raw) if "integer" in self.types[name] and _INTEGER.fullmatch(raw) else raw

    def fields(self, names: frozenset[str], given: Mapping[str, Sequence[str]], place: str) -> JsonObject:
        """Pick the named fields; `place` is `query` or `body`."""
        found: JsonObject = {}
        for name in names & given.keys():
            if len(given[name]) > 1:
                raise ValidationFailed(
                    f"The parameter `{name}` was given {len(given[name])} times and takes one value.",
                    details={"field": f"{place}.{name}", "expected": "one value"},
                )
            found[name] = self.one(name, given[name][0])
        return found


FORM = "application/x-www-form-urlencoded"
FORM_LIMIT = 32 * 1024
FIELD_LIMIT = 50


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    received = BytesIO()
    await receive_body(scope, receive, limit, received)
    return received.getvalue()


async def receive_body(scope: Scope, receive: Receive, limit: int, to: IO[bytes]) -> int:
    """Write the body to a file; return its size in bytes. PayloadTooLarge above the limit."""
    announced = Headers(scope=scope).get("content-length", "")
    size = 0
    if announced.isascii() and announced.isdigit() and int(announced) > limit:
        raise _too_large(limit)
    async for chunk in Request(scope, receive).stream():
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        to.write(chunk)
    return size


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
