"""Changes of configuration files, and their undoing, checked against a parser."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from cli.setup import jsonc
from cli.setup.jsonc import Steps

Format = Literal["json", "toml", "text"]
"""`text`: a file of ours as a whole."""
_MISSING = object()


class Change(NamedTuple):
    """A value to set at a place; or, as an item, to add to the list there (groups of hooks)."""

    steps: tuple[str, ...]
    value: JsonValue
    is_item: bool = False


def parsed(form: Format, text: str) -> Any:
    """Parse a file, or raise ValueError."""
    if form == "toml":
        return tomllib.loads(text)
    try:
        return jsonc.load(text).data if text.strip("\ufeff \t\r\n") else {}
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def applied(form: Format, text: str | None, changes: Sequence[Change]) -> str:
    """Return a file with the changes; ValueError if it does not parse or has no place for them."""
    result = text or ""
    for steps, value, is_item in changes:
        if form == "text":
            return str(value)
        data = parsed(form, result)
        if is_item:
            items = _at(data, steps)
            if isinstance(items, list) and value in items:
                continue
            steps = (*steps, len(items) if isinstance(items, list) else 0)  # noqa: PLW2901 - the place of the item
        if _at(data, steps) != value:
            result = _put(form, result, steps, value)
    return result


def reverted(form: Format, text: str, base: str | None, changes: Sequence[Change]) -> str | None:
    """Take the changes out of a file that somebody else changed, too; None if nothing else is in it.

    A value that stood at a place before comes back from `base`. A whole file stays: it has other words than ours.
    """
    if form == "text":
        return text
    before, result = parsed(form, base or ""), text
    for change in reversed(changes):
        for steps in _places(parsed(form, result), change):
            old = _MISSING if change.is_item else _at(before, steps)
            result = _remove(form, result, steps) if old is _MISSING else _put(form, result, steps, old)
        for depth in range(len(change.steps) - (not change.is_item), 0, -1):
            outer = change.steps[:depth]
            if _at(parsed(form, result), outer) in ({}, []) and _at(before, outer) is _MISSING:
                result = _remove(form, result, outer)
    return None if base is None and re.sub(r"\s", "", result) in ("{}", "") else result


def _places(data: Any, change: Change) -> Iterator[Steps]:
    found = _at(data, change.steps)
    if not change.is_item:
        yield from () if found is _MISSING else [change.steps]
        return
    own = _commands(change.value)
    for n, group in reversed(list(enumerate(found if isinstance(found, list) else []))):
        commands = _commands(group)
        if commands and set(commands) <= set(own):
            yield (*change.steps, n)
        else:
            yield from ((*change.steps, n, "hooks", i) for i in reversed(range(len(commands))) if commands[i] in own)


def _commands(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return [hook.get("command") if isinstance(hook, dict) else None for hook in hooks or []]


def _at(data: Any, steps: Steps) -> Any:
    for key in steps:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return data


def _put(form: Format, text: str, steps: Steps, value: JsonValue) -> str:
    expected = _with(deepcopy(parsed(form, text)), steps, value)
    results = [jsonc.put(text, steps, value)] if form == "json" else _toml_with(text, steps, value)
    return _checked(form, results, expected)


def _remove(form: Format, text: str, steps: Steps) -> str:
    expected = deepcopy(parsed(form, text))
    del _at(expected, steps[:-1])[steps[-1]]
    if form == "json":
        return _checked(form, [jsonc.remove(text, steps)], expected)
    import tomlkit  # noqa: PLC0415 - for Codex alone

    document = tomlkit.parse(text)
    del _at(document, steps[:-1])[steps[-1]]
    return _checked(form, [tomlkit.dumps(document)], expected)


def _with(data: Any, steps: Steps, value: JsonValue) -> Any:
    inner = data
    for key, following in zip(steps[:-1], steps[1:], strict=True):
        if _at(inner, [key]) is _MISSING:
            _set(inner, key, {} if isinstance(following, str) else [])
        inner = inner[key]
    _set(inner, steps[-1], value)
    return data


def _set(inner: Any, key: str | int, value: JsonValue) -> None:
    if not isinstance(inner, dict if isinstance(key, str) else list):
        raise ValueError(f"{key!r} has no place in it")
    if isinstance(inner, list) and key == len(inner):
        inner.append(value)
    else:
        inner[key] = value


def _toml_with(text: str, steps: Steps, value: Any) -> Iterator[str]:
    import tomlkit  # noqa: PLC0415 - for Codex alone

    eol = "\r\n" if "\r\n" in text else "\n"
    lines = "".join(f"{key} = {tomlkit.item(each).as_string()}\n" for key, each in value.items())
    table = f"[{'.'.join(map(str, steps))}]\n{lines}".replace("\n", eol)
    gap = "" if not text.strip() else eol if text.endswith("\n") else eol * 2
    yield text + gap + table
    document = tomlkit.parse(text)
    inner: Any = document
    for key in steps[:-1]:
        inner = inner.setdefault(key, {})
    inner[steps[-1]] = value
    yield tomlkit.dumps(document)


def _checked(form: Format, results: Iterator[str] | list[str], expected: JsonValue) -> str:
    for result in results:
        try:
            if parsed(form, result) == expected:
                return result
        except ValueError:
            continue
    raise ValueError("it cannot be changed without touching the rest of it")
