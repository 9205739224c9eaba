"""Titles on one line, for texts made of a result: a line break in a title would forge another record."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from tools.text.plain import one_line

_TITLE = re.compile(r"(?:.*_)?(?:name|title|label|fact|message|reason|heading_path)")


def with_one_line_titles(value: Any, field: str = "") -> Any:
    """Return a result whose titles, at any depth, have no line breaks."""
    if isinstance(value, str):
        return one_line(value) if len(value.splitlines()) > 1 and _TITLE.fullmatch(field) else value
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: with_one_line_titles(each, name) for name, each in value})
    if isinstance(value, Mapping):
        return {name: with_one_line_titles(each, str(name)) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([with_one_line_titles(each, field) for each in value])
    return value
