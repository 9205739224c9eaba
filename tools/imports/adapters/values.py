"""Readers of unvalidated JSON values."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from stores.language.moments import read_span
from tools.records.entity_models import LABEL_LIMIT, LABELS_LIMIT

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

Object = dict[str, Any]


def clean(text: str) -> str:
    """Replace U+0000 and lone surrogates by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def labels(values: Iterable[object]) -> tuple[str, ...]:
    """Return distinct labels within the limits of the store."""
    found = (clean(value)[: LABEL_LIMIT * 4].strip()[:LABEL_LIMIT] for value in values if isinstance(value, str))
    return tuple(islice(dict.fromkeys(each for each in found if each), LABELS_LIMIT))


def first_line(text: str) -> str:
    return next((line.strip("# \t") for line in text[:2_000].splitlines() if line.strip("# \t")), "")[:100]


def moment(value: object) -> str | None:
    """Return a time as ISO 8601, a text unchanged; None for other values. Large numbers are milliseconds."""
    try:
        if isinstance(value, str) and value[:4].isdigit():
            read_span(value, now=datetime.now(UTC))
            return value.strip()
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1_000 if abs(value) > 1e11 else value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    return None


def at(value: object, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_at(value: object, *path: str) -> str:
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def listed(value: object, *path: str) -> list[Any]:
    found = at(value, *path)
    return found if isinstance(found, list) else []


def said(content: object, noise: re.Pattern[str] | None = None) -> str:
    """Return the text of a message's parts, without tools, thinking, pictures and parts that begin with noise."""
    parts = content if isinstance(content, list) else [content]
    kinds = (None, "text", "input_text", "output_text")
    texts = (
        each if isinstance(each, str) else text_at(each, "text")
        for each in parts
        if isinstance(each, str) or (at(each, "type") in kinds and at(each, "thought") is not True)
    )
    return "\n\n".join(text for text in texts if text.strip() and not (noise and noise.match(text)))
