"""Edits of JSON with comments, as text: the rest of a file stays byte for byte."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import JsonValue

Steps = Sequence[str | int]
"""Keys and indexes that lead from the root to a value."""

_BLANK = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\n]|\\.)*"|[-+.\w]+')
_COMMENT = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_LINE_END = re.compile(r"[ \t]*(?:\r?\n|$)")
_INDENT = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)


class Member(NamedTuple):
    key: str | int
    start: int
    node: "Node"
    comma: int | None


@dataclass(slots=True)
class Node:
    """A value with its span in the text; objects and arrays have members."""

    start: int
    end: int
    data: Any
    members: list[Member]

    def member(self, key: str | int) -> Member | None:
        """Return a member; ValueError if this has no members of that kind."""
        if not isinstance(self.data, dict if isinstance(key, str) else list):
            raise ValueError(f"{key!r} has no place in {json.dumps(self.data)[:60]}")
        return next((each for each in reversed(self.members) if each.key == key), None)


def load(text: str) -> Node:
    """Parse JSON with comments and trailing commas, or raise ValueError."""
    reader = _Reader(text)
    node = reader.value()
    reader.blank()
    if reader.at < len(text):
        raise reader.error()
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def error(self) -> ValueError:
        return ValueError(f"line {self.text.count(chr(10), 0, self.at) + 1} is not JSON")

    def blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def takes(self, character: str) -> bool:
        self.blank()
        is_there = self.text.startswith(character, self.at)
        self.at += is_there
        return is_there

    def value(self) -> Node:
        self.blank()
        start = self.at
        if self.takes("{"):
            members = self.members("}")
            return Node(start, self.at, {each.key: each.node.data for each in members}, members)
        if self.takes("["):
            members = self.members("]")
            return Node(start, self.at, [each.node.data for each in members], members)
        data = self.scalar()
        return Node(start, self.at, data, [])

    def members(self, closing: str) -> list[Member]:
        found: list[Member] = []
        while not self.takes(closing):
            if found and found[-1].comma is None:
                raise self.error()
            start, key = self.at, len(found) if closing == "]" else self.scalar()
            if closing == "}" and not (isinstance(key, str) and self.takes(":")):
                raise self.error()
            node = self.value()
            found.append(Member(key, start, node, self.at - 1 if self.takes(",") else None))
        return found

    def scalar(self) -> Any:
        match = _SCALAR.match(self.text, self.at)
        try:
            data = json.loads(match[0] if match else "")
        except ValueError:
            raise self.error() from None
        self.at += len(match[0]) if match else 0
        return data


def put(text: str, steps: Steps, value: JsonValue) -> str:
    """Set a value, and make the objects and arrays on the way; an index that is not there appends.

    ValueError where the text does not parse, or has another kind of value on the way.
    """
    if not text.strip("\ufeff \t\r\n"):
        return f"{json.dumps(_nested(steps, value), indent=2, ensure_ascii=False)}\n"
    node = load(text)
    for depth, key in enumerate(steps):
        member = node.member(key)
        if member is None:
            return _insert(text, node, key, _nested(steps[depth + 1 :], value))
        node = member.node
    rendered = _rendered(text, value, _indent_at(text, node.start))
    return text[: node.start] + rendered + text[node.end :]


def remove(text: str, steps: Steps) -> str:
    """Remove the value at a place, with its line; without one, return the text as it is."""
    node, member, before = load(text), None, None
    for key in steps:
        node = member.node if member else node
        member = node.member(key)
        if member is None:
            return text
    assert member is not None
    position = node.members.index(member)
    end = member.node.end if member.comma is None else member.comma + 1
    kept = text[: member.start].rstrip(" \t")
    if _LINE_END.match(text, end):
        kept = kept.rstrip()
    if member.comma is None and position:
        before = node.members[position - 1].comma
    if before is not None:
        kept = kept[:before] + kept[before + 1 :]
    return kept + text[end:]


def _nested(steps: Steps, value: JsonValue) -> JsonValue:
    for key in reversed(steps):
        value = {key: value} if isinstance(key, str) else [value]
    return value


def _insert(text: str, node: Node, key: str | int, value: JsonValue) -> str:
    label = f"{json.dumps(key)}: " if isinstance(key, str) else ""
    eol, outer = _eol(text), _indent_at(text, node.start)
    if not node.members:
        inner, kept = outer + _unit(text), text[: node.end - 1].rstrip()
        return f"{kept}{eol}{inner}{label}{_rendered(text, value, inner)}{eol}{outer}{text[node.end - 1 :]}"
    last = node.members[-1]
    indent = _indent_at(text, last.start)
    if not text[: last.start].endswith(f"\n{indent}"):  # all on one line
        new = f", {label}{json.dumps(value, ensure_ascii=False)}"
        return text[: last.node.end] + new + text[last.node.end :]
    at = last.node.end if last.comma is None else last.comma + 1
    comment = _COMMENT.match(text, at)
    end = comment.end() if comment and _LINE_END.match(text, comment.end()) else at
    first, closing = (",", "") if last.comma is None else ("", ",")
    new = f"{eol}{indent}{label}{_rendered(text, value, indent)}{closing}"
    return text[:at] + first + text[at:end] + new + text[end:]


def _rendered(text: str, value: JsonValue, indent: str) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", _eol(text) + indent)


def _eol(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[0] if found else "  "


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
