"""Changes of configuration files and their undoing, each checked with a parser."""

import json
import re
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from cli.setup.jsonc import MISSING, Steps, edited, plain

Format = Literal["json", "toml", "text"]
"""`text` is a file of ours as a whole."""


class Change(NamedTuple):
    """A value to set at a place; or, as an item, a group of hooks to add to the list there."""

    steps: tuple[str, ...]
    value: Any
    is_item: bool = False


def applied(form: Format, text: str, changes: Sequence[Change]) -> str:
    """Return a file with the changes; ValueError if it does not parse or has no place for them."""
    for steps, value, is_item in changes:
        if form == "text":
            return str(value)
        there = _at(_parsed(form, text), steps)
        if is_item and not (isinstance(there, list) and value in there):
            text = _edited(form, text, (*steps, 0), value)
        elif not is_item and not (isinstance(there, dict) and there | value == there):
            text = _edited(form, text, steps, value)
    return text


def reverted(form: Format, text: str, base: str | None, changes: Sequence[Change]) -> str | None:
    """Take the changes out of a file that has others, too; None if nothing is left of a file that was not there.

    A value that stood at a place in `base` comes back. A file of ours stays: it has other words now.
    """
    if form == "text":
        return text
    before = _parsed(form, base or "")
    for steps, value, is_item in changes:
        there, old = _at(_parsed(form, text), steps), MISSING if is_item else _at(before, steps)
        groups = there if is_item and isinstance(there, list) else []
        places: list[Steps] = [(*steps, n) for n, group in enumerate(groups) if _is_alike(group, value)]
        for place in reversed(places) if is_item else [steps] if there is not MISSING else []:
            # Of containers that were not there, the outermost with nothing else in it goes.
            while old is MISSING and len(place) > 1 and len(_at(_parsed(form, text), place[:-1])) == 1:
                if form == "json" and _at(before, place[:-1]) is not MISSING:
                    break
                place = place[:-1]
            text = _edited(form, text, place, old)
    return None if base is None and re.sub(r"\s", "", text) in ("{}", "") else text


def _is_alike(group: Any, own: Any) -> bool:
    try:
        return [hook["command"] for hook in group["hooks"]] == [hook["command"] for hook in own["hooks"]]
    except (KeyError, TypeError):
        return False


def _at(data: Any, steps: Steps) -> Any:
    for key in steps:
        data = data.get(key, MISSING) if isinstance(data, dict) else MISSING
    return data


def _parsed(form: Format, text: str) -> Any:
    return tomllib.loads(text) if form == "toml" else json.loads(plain(text).strip() or "{}")


def _edited(form: Format, text: str, steps: Steps, value: Any) -> str:
    expected = _parsed(form, text)
    try:
        _modify(expected, steps, value)
        if form == "toml":
            import tomlkit  # noqa: PLC0415 - for Codex alone

            document = tomlkit.parse(text)
            _modify(document, steps, value)
            result = tomlkit.dumps(document)
            if 0 < text.count("\n") == text.count("\r\n"):
                result = result.replace("\r\n", "\n").replace("\n", "\r\n")
        else:
            result = edited(text, steps, value)
    except (AttributeError, TypeError) as error:
        raise ValueError(f"it has something else at {'.'.join(map(str, steps))}") from error
    if _parsed(form, result) != expected:
        raise ValueError("it cannot be changed without touching the rest of it")
    return result


def _modify(data: Any, steps: Steps, value: Any) -> None:
    for key, following in pairwise(steps):
        data = data.setdefault(key, {} if isinstance(following, str) else [])
    if value is MISSING:
        del data[steps[-1]]
    elif isinstance(data, list):
        data.insert(int(steps[-1]), value)
    else:
        data[steps[-1]] = value
