"""Validate requests, with one sentence for all errors."""

import difflib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json, to_json

from stores.errors import EngrainError, ValidationFailed
from tools.frame.arguments import CLASH, SYNONYMS, examples, fields_at, mended, names_for_agents, with_own_names
from tools.frame.dates import NO_DATE
from tools.frame.operation import Request, Tool

R = TypeVar("R", bound=Request)
Names = Collection[str]
MOST_NAMED, MOST_LISTED = 10, 200
"""Wrong fields in the message of an error, and in its details."""

IN_METADATA = frozenset({"memory_scope", "scope_key"})
"""Keys of `metadata` that some tools take as arguments."""
_EXPECTED = {"missing": "a value: it is required", "extra_forbidden": "no such field"}


def parse(
    model: type[R], data: dict[str, Any], *, where: str = "body", tool: Tool | None = None, hidden: Names = ()
) -> R:
    """Validate a request of an agent: refuse unknown fields, and repair values that can have one meaning only."""
    refuse_unstorable(data, where)
    names = names_for_agents(model)
    data, errors = with_own_names(data, model)
    errors += _not_for_agents(tool, data) if tool else []
    left_out = {each["loc"][0] for each in errors if each["type"] != CLASH}
    left_out |= {name for name, field in model.model_fields.items() if data.get(name) == "" and not field.is_required()}
    known = {name: value for name, value in data.items() if name not in left_out}
    try:
        # From bytes: pydantic's strict mode accepts dates and tuples only from JSON.
        request = model.model_validate_json(to_json(known), strict=True, extra="forbid")
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        if (repaired := mended(data, wrong, model)) is not None:
            # Anew: what stood in a text may be unstorable, or no word for agents.
            return parse(model, repaired, where=where, tool=tool, hidden=hidden)
        errors += wrong
    if errors:
        raise refusal(errors, model, where, hidden=tool.omit if tool else hidden, sent=data, names=names)
    return request


def _not_for_agents(tool: Tool, data: dict[str, Any]) -> list[ErrorDetails]:
    found = [ErrorDetails(type="extra_forbidden", loc=(name,), msg="", input=None) for name in tool.omit & data.keys()]
    for name, words in tool.omit_values.items():
        if isinstance(word := data.get(name), str) and word in words:
            said = f"{word} is not for agents; leave it out or use another word"
            found.append(ErrorDetails(type="another word", loc=(name,), msg=said, input=word))
    return found


def parse_json(model: type[R], data: dict[str, Any]) -> R:
    """Validate a JSON body, and empty it: "5" is not an integer, 5.0 is. Ignores unknown fields unless forbidden."""
    encoded = to_json({name: value for name, value in data.items() if value != "" or name not in model.filters()})
    data.clear()  # A large body is not held twice.
    try:
        return model.model_validate_json(encoded, strict=True, extra=model.model_config.get("extra") or "ignore")
    except ValidationError as error:
        if (repaired := mended(from_json(encoded), error.errors(include_url=False), model, strict=True)) is None:
            raise
        return parse_json(model, repaired)


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
            f"{path} holds the character U+0000, which is not accepted, at character {text.index(chr(0)) + 1}.",
            remediation="Remove the null characters and send it again.",
            details={"field": path, "expected": "text without U+0000"},
        )
    if not text.isascii() and (found := _SURROGATE.search(text)):
        raise ValidationFailed(
            f"{path} holds a lone surrogate, which is invalid Unicode, at character {found.start() + 1}.",
            remediation="Encode the text as valid UTF-8 and send it again.",
            details={"field": path, "expected": "valid Unicode"},
        )


def refusal(
    errors: Sequence[ErrorDetails],
    model: type[Request],
    where: str,
    *,
    hidden: Names = (),
    sent: Names = (),
    names: Mapping[str, str] = MappingProxyType({}),
) -> ValidationFailed:
    """Make the error that names every wrong field, with an example of how to send them.

    Fields that are `hidden` are unknown to the caller; those already `sent` are not suggested either. The caller knows
    some by other `names`.
    """
    fields = {names.get(name, name): name for name in model.model_fields if name not in hidden}
    known = list(fields)
    free = {shown: name for shown, name in fields.items() if name not in sent}
    # Unknown names first: they are often misspellings of a missing field.
    ordered = sorted(errors, key=lambda each: each["type"] != "extra_forbidden")
    found = {".".join([where, *_place(each, names)]): each for each in reversed(ordered)}
    # Each sentence looks for a similar name; one body can hold many thousands of wrong ones.
    first = list(reversed(found.items()))
    said = [_sentence(each, path, free, fields_at(model, each["loc"][:-1])) for path, each in first[:MOST_NAMED]]
    named = [{"field": path, "expected": _expected(each)} for path, each in first[:MOST_LISTED]]
    message = said[0] if len(found) == 1 else f"{len(found)} fields are wrong. {' '.join(said)}"
    if known and any(each.endswith("is not an argument.") for each in said):
        message += f" Arguments are {', '.join(known)}."
    wrong = {each["loc"][0] for each in errors if each["loc"] and each["type"] != NO_DATE}
    example = examples(model, {shown: name for shown, name in fields.items() if name in wrong})
    for part in where.split(".")[1:] if example else ():
        example = f'{{"{part}":{example}}}'
    return ValidationFailed(
        message,
        remediation=f"Correct what is named and send it again, for example with {example}." if example else None,
        details=named[0] | ({"errors": named} if len(named) > 1 else {}),
    )


def named_field(error: EngrainError) -> str | None:
    """Return the name of the argument that an error is about."""
    place, _, name = str(error.details.get("field", "")).partition(".")
    return name if name and place in ("body", "arguments") else None


def _place(error: ErrorDetails, names: Mapping[str, str]) -> list[str]:
    place = [str(part) for part in error["loc"]]
    return place if error["type"] == CLASH else [*(names.get(part, part) for part in place[:1]), *place[1:]]


def _sentence(error: ErrorDetails, path: str, free: Mapping[str, str], beside: Sequence[str]) -> str:
    name = path.partition(".")[2] or path
    if error["type"] == "extra_forbidden":
        if len(error["loc"]) > 1 and beside:
            return f"{name} is no field of {name.rpartition('.')[0]}, which has {', '.join(beside)}."
        meant = _meant(str(error["loc"][0]), free) if len(error["loc"]) == 1 else None
        return f"{name} is not an argument{f'; did you mean {meant}?' if meant else '.'}"
    if error["type"] == "missing":
        return f"{name} is required."
    said = error["msg"].removeprefix("Value error, ")
    if error["type"] == NO_DATE:
        return f"{name} {said}."
    return f"{name}: {said}" if said.endswith("?") else f"{name}: {said}."


def _meant(name: str, free: Mapping[str, str]) -> str | None:
    if name in IN_METADATA and "metadata" in free:
        return f"metadata.{name}"
    if synonyms := [ours for ours, words in SYNONYMS.items() if ours in free and name.lower() in words.split()]:
        return synonyms[0]
    spellings = {own: shown for shown, own in free.items()} | {shown: shown for shown in free}
    return next((spellings[each] for each in difflib.get_close_matches(name, spellings, n=1, cutoff=0.75)), None)


def _expected(error: ErrorDetails) -> str:
    context: dict[str, Any] = error.get("ctx", {})
    if "expected" in context:
        return str(context["expected"])
    return _EXPECTED.get(error["type"], error["msg"].removeprefix("Input should be "))
