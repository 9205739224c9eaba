"""Encoding of column values, the same on every database."""

import json
import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from string import ascii_lowercase, ascii_uppercase
from typing import Any, cast

from pydantic import JsonValue

from stores.errors import ValidationFailed
from stores.records import JsonObject

Values = dict[str, Any]
"""Parameters of an INSERT or UPDATE."""

KEY_BYTES = 200
"""Compared prefix: PostgreSQL refuses index rows over 2,704 bytes, some with six columns."""

ID_BYTES = 400
"""For the same reason."""

_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def to_micros(instant: datetime) -> int:
    """Return microseconds since 1970: exact and ordered."""
    return (instant - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def optional_micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def optional_instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def check_text(texts: Iterable[str | None]) -> None:
    """Raise ValidationFailed for U+0000 and lone surrogates."""
    for text in texts:
        if text and ("\0" in text or not _is_encodable(text)):
            raise ValidationFailed("Text holds U+0000 or a lone surrogate, which cannot be stored.")


def check_id(record_id: str) -> None:
    """Raise ValidationFailed if empty, too long or not storable."""
    if not record_id:
        raise ValidationFailed("An id is empty.")
    check_keys((record_id,))


def check_keys(texts: Iterable[str | None], most: int = ID_BYTES) -> None:
    """Raise ValidationFailed if not storable or longer than `most` bytes."""
    present = [text for text in texts if text]
    check_text(present)
    for text in present:
        if len(text) * 4 > most and len(text.encode()) > most:
            raise ValidationFailed(f"An id, key or address has more than {most} bytes: {text[:40]}…")


def dump_json(value: JsonValue | tuple[str, ...]) -> str:
    """Encode JSON losslessly; ValidationFailed for NaN, infinity, U+0000, a lone surrogate, and too deep a nesting."""
    if value in ({}, [], ()):
        return "[]" if value != {} else "{}"
    try:
        text = _encoded(value)
    except (ValueError, RecursionError) as error:
        raise ValidationFailed(
            "A value cannot be stored as JSON: a number out of range, or nested too deep."
        ) from error
    if not _is_encodable(text) or ("\\u0000" in text and _ESCAPED_NUL.search(text)):
        raise ValidationFailed("Text holds U+0000 or a lone surrogate, which cannot be stored.")
    return text


def load_object(text: str) -> JsonObject:
    """Decode an object of `dump_json`, or raise ValueError."""
    found = {} if text == "{}" else json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("a JSON object was expected")  # of a text, not of an argument
    return cast(JsonObject, found)


def load_value(text: str) -> JsonValue:
    return cast(JsonValue, json.loads(text))


def load_strings(text: str) -> tuple[str, ...]:
    """Decode strings of `dump_json`, or raise ValueError."""
    found = () if text == "[]" else json.loads(text)
    if found and not (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        raise ValueError("a JSON list of strings was expected")
    return tuple(found)


INSTANT, OBJECT, STRINGS = (to_micros, from_micros), (dump_json, load_object), (dump_json, load_strings)
"""Functions that encode and decode the values of a column."""


def fold(text: str) -> str:
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def address_key(email: str) -> str:
    """Return an e-mail address with ASCII letters in lower case; case folding equates `straße.de` and `strasse.de`."""
    return email.translate(_LOWER)


def key_of(text: str | None) -> str:
    return cut(fold(text), KEY_BYTES) if text else ""


def cut(text: str, size: int) -> str:
    return text[:size] if text.isascii() else text.encode()[:size].decode(errors="ignore")


def _is_encodable(text: str) -> bool:
    return text.isascii() or not _SURROGATE.search(text)
