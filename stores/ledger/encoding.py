"""Encoding of column values: instants, JSON, text, comparison keys; the same on every database."""

import json
import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from string import ascii_lowercase, ascii_uppercase
from typing import cast

from pydantic import JsonValue

from stores.errors import ValidationFailed
from stores.records import JsonObject

KEY_BYTES = 200
"""As much of a text is compared: PostgreSQL refuses index rows over 2,704 bytes, and some hold six columns."""

ID_BYTES = 400
"""The longest id that is stored, for the same reason."""

_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def to_micros(instant: datetime) -> int:
    """Return the microseconds since 1970: exact, and ordered as the instants are."""
    return (instant - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the aware UTC instant of `to_micros`."""
    return _EPOCH + timedelta(microseconds=micros)


def optional_micros(instant: datetime | None) -> int | None:
    """Return `to_micros`, or None for None."""
    return None if instant is None else to_micros(instant)


def optional_instant(micros: int | None) -> datetime | None:
    """Return `from_micros`, or None for None."""
    return None if micros is None else from_micros(micros)


def check_text(texts: Iterable[str | None]) -> None:
    """Refuse what a database would cut off or cannot hold.

    Raises:
        ValidationFailed: A text holds U+0000 or a lone surrogate.
    """
    for text in texts:
        if text and ("\0" in text or not _is_encodable(text)):
            raise ValidationFailed("Text holds U+0000 or a lone surrogate, which cannot be stored.")


def check_id(record_id: str) -> None:
    """Refuse an id that no index could hold.

    Raises:
        ValidationFailed: It is empty, too long, or not storable text.
    """
    if not record_id:
        raise ValidationFailed("An id is empty.")
    if len(record_id) <= ID_BYTES and record_id.isascii() and "\0" not in record_id:
        return
    check_keys((record_id,))


def check_keys(texts: Iterable[str | None]) -> None:
    """Refuse what is not storable text, or too long for an index.

    Raises:
        ValidationFailed: One of them is so.
    """
    present = [text for text in texts if text]
    check_text(present)
    for text in present:
        if len(text) * 4 > ID_BYTES and len(text.encode()) > ID_BYTES:
            raise ValidationFailed(f"An id, key or address has more than {ID_BYTES} bytes: {text[:40]}…")


def dump_json(value: JsonValue | tuple[str, ...]) -> str:
    """Return JSON text that reads back to the same value: key order, big integers and every character kept.

    Raises:
        ValidationFailed: It holds NaN, an infinity, U+0000, a lone surrogate, or is nested beyond reading.
    """
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
    """Return the object of `dump_json`.

    Raises:
        ValueError: It is none.
    """
    found = {} if text == "{}" else json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("a JSON object was expected")  # of a text, not of an argument
    return cast(JsonObject, found)


def load_value(text: str) -> JsonValue:
    return cast(JsonValue, json.loads(text))


def load_strings(text: str) -> tuple[str, ...]:
    """Return the strings of `dump_json`.

    Raises:
        ValueError: They are none.
    """
    found = () if text == "[]" else json.loads(text)
    if found and not (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        raise ValueError("a JSON list of strings was expected")
    return tuple(found)


def fold(text: str) -> str:
    """Return the text without case, so that equal-looking texts are equal."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def address_key(email: str) -> str:
    """Return what an e-mail address is compared by: itself, with ASCII letters in lower case.

    Any wider rule makes two mailboxes one, and whoever reads one of them owns the other's account. Case folding takes
    the long s for `s`, and `straße.de` for `strasse.de`, which belong to different people; NFC takes the Kelvin sign
    for `K`.
    """
    return email.translate(_LOWER)


def key_of(text: str | None) -> str:
    """Return what a text is compared and sorted by; empty for None."""
    return cut(fold(text), KEY_BYTES) if text else ""


def cut(text: str, size: int) -> str:
    return text[:size] if text.isascii() else text.encode()[:size].decode(errors="ignore")


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
