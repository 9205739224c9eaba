"""Validate requests, with one sentence for what is wrong."""

import difflib
import math
import re
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_json

from stores.errors import EngrainError, ValidationFailed
from tools.frame.dates import NO_DATE
from tools.frame.operation import Request

R = TypeVar("R", bound=Request)

_EXPECTED = {
    "missing": "a value: it is required",
    "extra_forbidden": "no such field",
    "string_type": "a string",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_too_short": "a longer text",
    "string_too_long": "a shorter text",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def parse(model: type[R], data: object, *, strict_names: bool, where: str = "body") -> R:
    """Validate a request; `strict_names` refuses unknown fields."""
    refuse_unstorable(data, where)
    try:
        return model.model_validate(data, extra="forbid" if strict_names else "ignore")
    except ValidationError as error:
        raise refusal(error, model, where) from None


def parse_json(model: type[R], data: dict[str, Any]) -> R:
    """Validate a JSON body: "5" is no integer, 5.0 is. Ignores unknown fields."""
    try:
        # From bytes: pydantic's strict mode accepts dates and tuples only from JSON.
        return model.model_validate_json(to_json(data), strict=True, extra="ignore")
    except ValidationError as error:
        if not _make_whole(data, error):
            raise
    return model.model_validate_json(to_json(data), strict=True, extra="ignore")


def _make_whole(data: dict[str, Any], error: ValidationError) -> bool:
    found = False
    for each in error.errors(include_url=False, include_context=False):
        value = each["input"]
        if each["type"] == "int_type" and isinstance(value, float) and value.is_integer():
            with suppress(KeyError, IndexError, TypeError):  # a union: its location also names the type
                _holder(data, each["loc"])[each["loc"][-1]] = int(value)
                found = True
    return found


def _holder(data: Any, place: tuple[int | str, ...]) -> Any:
    for part in place[:-1]:
        data = data[part]
    return data


_SURROGATE = re.compile("[\ud800-\udfff]")


def refuse_unstorable(value: object, path: str) -> None:
    """Refuse U+0000, lone surrogates and non-finite numbers: no store keeps them."""
    if isinstance(value, str):
        _refuse_text(value, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_text(str(key), path)
            if not _is_plain(item):
                refuse_unstorable(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not _is_plain(item):
                refuse_unstorable(item, f"{path}.{index}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValidationFailed(f"{path} is not a finite number.", details={"field": path, "expected": "finite number"})


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and "\x00" not in value


def _refuse_text(text: str, path: str) -> None:
    if "\x00" in text:
        raise ValidationFailed(
            f"{path} holds the character U+0000, which is not accepted.",
            remediation="Remove the null characters and send it again.",
            details={"field": path, "expected": "text without U+0000"},
        )
    if not text.isascii() and _SURROGATE.search(text):
        raise ValidationFailed(
            f"{path} holds a lone surrogate, which is no valid Unicode.",
            remediation="Encode the text as valid UTF-8 and send it again.",
            details={"field": path, "expected": "valid Unicode"},
        )


def refusal(error: ValidationError, model: type[Request], where: str) -> ValidationFailed:
    """Make the error for the first validation error, with the number of others."""
    errors = error.errors(include_url=False, include_context=True)
    # An unknown name first: it is often a misspelling of a missing field.
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    path = ".".join([where, *(str(part) for part in first["loc"])])
    others = len(errors) - 1
    more = f" ({others} more field{' is' if others == 1 else 's are'} wrong)" if others else ""
    return ValidationFailed(_sentence(first, path, model) + more, details={"field": path, "expected": _expected(first)})


def named_field(error: EngrainError) -> str | None:
    """Return the name of the argument that an error is about."""
    place, _, name = str(error.details.get("field", "")).partition(".")
    return name if name and place in ("body", "arguments") else None


def _sentence(error: ErrorDetails, path: str, model: type[Request]) -> str:
    name = path.partition(".")[2] or path
    if error["type"] == "extra_forbidden":
        return f"{name} is not an argument{_nearest(str(error['loc'][-1]), model)}"
    if error["type"] == "missing":
        return f"{name} is required."
    said = error["msg"].removeprefix("Value error, ")
    if error["type"] == NO_DATE:
        return f"{name} {said}."
    return f"{name}: {said}" if said.endswith("?") else f"{name}: {said}."


def _nearest(name: str, model: type[Request]) -> str:
    near = difflib.get_close_matches(name, model.model_fields, n=1, cutoff=0.5)
    known = ", ".join(model.model_fields)
    return f"; did you mean {near[0]}?" if near else f"; known are {known}."


def _expected(error: ErrorDetails) -> str:
    context: dict[str, Any] = error.get("ctx", {})
    if "expected" in context:
        return str(context["expected"])
    return _EXPECTED.get(error["type"], error["type"])
