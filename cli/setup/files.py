"""Changes of configuration files and their undoing, each checked with a parser, and the records of them on disk."""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from pydantic import TypeAdapter

from cli.client.failure import CommandFailed
from cli.locking import locked_file
from stores.folder import replace_file

Steps = Sequence[str | int]
"""Keys and indexes from the root to a value."""
MISSING: Any = object()
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/|\ufeff', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_BLANK = re.compile(r"\s*")
_LINE_END = re.compile(r"[ \t]*(?:\r?\n|$)")
_decode = json.JSONDecoder().raw_decode
_Member = tuple[str | int, int, int, int]
"""A key or index, and the offsets of the member, its value and its end."""
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
        own = _commands(value)
        for n, group in enumerate(groups):  # Somebody may have added to our group.
            theirs = _commands(group)
            for m in reversed([m for m, each in enumerate(theirs) if each in own and theirs != own]):
                text = _edited(form, text, (*steps, n, "hooks", m), MISSING)
        places: list[Steps] = [(*steps, n) for n, group in enumerate(groups) if own and _commands(group) == own]
        for place in reversed(places) if is_item else [steps] if there is not MISSING else []:
            # Of containers that were not there, the outermost with nothing else in it goes.
            while old is MISSING and len(place) > 1 and len(_at(_parsed(form, text), place[:-1])) == 1:
                if form == "json" and _at(before, place[:-1]) is not MISSING:
                    break
                place = place[:-1]
            text = _edited(form, text, place, old)
    return None if base is None and re.sub(r"\s", "", text) in ("{}", "") else text


def _commands(group: Any) -> list[Any]:
    try:
        return [hook["command"] for hook in group["hooks"]]
    except (KeyError, TypeError):
        return []


def _extended(form: Format, text: str, old: Sequence[Change], changes: Sequence[Change]) -> Iterator[Change]:
    """Yield changes with the keys that somebody added to our values."""
    data, was = _parsed(form, text), {change.steps: change.value for change in old}
    for change in changes:
        there, own = _at(data, change.steps), was.get(change.steps)
        if not change.is_item and isinstance(there, dict) and isinstance(own, dict):
            more = {key: value for key, value in there.items() if key not in own}
            yield change._replace(value=more | change.value)
        else:
            yield change


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
        raise ValueError("it cannot be changed without touching its other content")
    return result


def _modify(data: Any, steps: Steps, value: Any) -> None:
    for key, following in pairwise(steps):
        empty: Any = {} if isinstance(following, str) else []
        data = data[int(key)] if isinstance(data, list) else data.setdefault(key, empty)
    if value is MISSING:
        del data[steps[-1]]
    elif isinstance(data, list):
        data.insert(int(steps[-1]), value)
    else:
        data[steps[-1]] = value


def plain(text: str) -> str:
    """Return JSON of the same length: comments and trailing commas are blanks."""
    return _blanked(_blanked(text, _COMMENT), _TRAILING)


def edited(text: str, steps: Steps, value: Any) -> str:
    """Set the value of a key, insert it at an index, or take it out if it is MISSING.

    The text must be valid, and have objects and arrays on the way; those that are not there are made.
    """
    text = text if plain(text).strip() else text + "{}\n"
    clean = plain(text)
    at = _skipped(clean, 0)
    for depth, key in enumerate(steps, 1):
        members = _members(clean, at)
        position = next((n for n in range(len(members) - 1, -1, -1) if members[n][0] == key), None)
        if depth == len(steps) and value is MISSING:
            return text if position is None else _without(text, members, position)
        if position is None or (depth == len(steps) and isinstance(key, int)):
            for inner in reversed(steps[depth:]):
                value = {inner: value} if isinstance(inner, str) else [value]
            return _with(text, at, members, key, value)
        at, end = members[position][2:]
    return text[:at] + _dumped(value, _margin(text, at)) + text[end:]


def _blanked(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(lambda found: found[1] or re.sub(r"[\S\ufeff]", " ", found[0]), text)


def _skipped(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _members(clean: str, at: int) -> list[_Member]:
    found: list[_Member] = []
    is_object, separator = clean[at] == "{", ","
    while separator == "," and clean[start := _skipped(clean, at + 1)] not in "}]":
        key, value = len(found), start
        if is_object:
            key, end = _decode(clean, start)
            value = _skipped(clean, _skipped(clean, end) + 1)
        end = _decode(clean, value)[1]
        found.append((key, start, value, end))
        at = _skipped(clean, end)
        separator = clean[at]
    return found


def _with(text: str, at: int, members: list[_Member], key: str | int, value: Any) -> str:
    label = f"{json.dumps(key)}: " if isinstance(key, str) else ""
    head, rest, outer = text[: at + 1], text[at + 1 :], _margin(text, at)
    if members and "\n" not in text[at : members[0][1]]:
        return f"{head}{label}{json.dumps(value, ensure_ascii=False)}, {rest}"
    margin = _margin(text, members[0][1]) if members else f"{outer}  "
    new = f"{head}{margin}{label}{_dumped(value, margin, margin.removeprefix(outer))}"
    return f"{new},{rest}" if members else f"{new}{outer}{rest.lstrip()}"


def _without(text: str, members: list[_Member], position: int) -> str:
    code, (_, start, _, end) = _blanked(text, _COMMENT), members[position]
    kept, comma = text[:start].rstrip(" \t"), _skipped(code, end)
    has_comma = code[comma] == ","
    end = comma + 1 if has_comma else end
    if _LINE_END.match(text, end):
        kept = kept.rstrip()
    if not has_comma and position:
        before = code.index(",", members[position - 1][3])
        kept = kept[:before] + kept[before + 1 :]
    return kept + text[end:]


def _dumped(value: Any, margin: str, unit: str = "  ") -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", margin)


def _margin(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return ("\r\n" if "\r\n" in text else "\n") + line[: len(line) - len(line.lstrip(" \t"))]


@dataclass(frozen=True, slots=True)
class Record:
    """A file as it was written, and the backup of it without the changes (`None` if there was no file)."""

    path: str
    form: Format
    changes: Sequence[Change]
    sha256: str
    backup: str | None
    folders: Sequence[str]  # made for it, innermost first


_RECORDS = TypeAdapter(dict[str, list[Record]])


@dataclass(frozen=True, slots=True)
class FilePlan:
    """A file before and after, and without our changes; `None` is no file."""

    path: Path
    before: str | None
    after: str | None
    base: str | None = None
    record: Record | None = None

    @property
    def is_change(self) -> bool:
        return self.after != self.before


class State:
    """Folder with the records and the backups."""

    def __init__(self) -> None:
        import platformdirs  # noqa: PLC0415 - not every command needs it

        self.folder = Path(platformdirs.user_state_dir("engrain", appauthor=False)) / "setup"
        self.path = self.folder / "setup.json"

    def read(self) -> dict[str, list[Record]]:
        text = read_text(self.path)
        with careful(self.path):
            return _RECORDS.validate_json(text) if text else {}

    def locked(self) -> BinaryIO:
        """Keep other setups out until this is closed; wait for one that is under way."""
        with careful(self.folder):
            return locked_file(self.folder / "lock")

    def carry_out(self, client: str, plans: Sequence[FilePlan]) -> None:
        """Write the files of a client, while `locked`. Each has its record first, else it could not be undone."""
        before, records = self.read(), [plan.record for plan in plans if plan.record]
        for plan in plans:
            if plan.record and plan.record.backup:
                write_text(Path(plan.record.backup), plan.base)
        if records:
            write_text(self.path, _RECORDS.dump_json(before | {client: records}).decode())
        for plan in plans:
            if plan.is_change:
                write_text(plan.path, plan.after)
        if not records:
            gone = before.pop(client, [])
            write_text(self.path, _RECORDS.dump_json(before).decode())
            for record in gone:
                Path(record.backup or self.folder / "none").unlink(missing_ok=True)
                with suppress(OSError):  # it holds something else
                    for folder in record.folders:
                        Path(folder).rmdir()

    def addition(self, client: str, path: Path, form: Format, changes: Sequence[Change]) -> FilePlan:
        """Plan changes of a file, in place of earlier ones; CommandFailed if it does not parse."""
        target = path.resolve()
        old = next((each for each in self.read().get(client, []) if each.path == str(target)), None)
        before = read_text(target)
        with careful(target):
            if old and before is not None and applied(form, before, changes) == before:
                return FilePlan(target, before, before, _backup(old), old)
            if old and before is not None and form != "text":
                changes = list(_extended(form, before, old.changes, changes))
            base = self.removal(old).after if old else before
            after = applied(form, base or "", changes)
        backup = str(self.folder / f"{client}-{_digest(str(target))[:8]}-{target.name}") if base is not None else None
        folders = old.folders if old else [str(each) for each in target.parents if not each.exists()]
        return FilePlan(
            target, before, after, base, Record(str(target), form, changes, _digest(after), backup, folders)
        )

    def removal(self, record: Record) -> FilePlan:
        """Plan to undo the changes of a file: restore its backup if it is unchanged since, else revert them alone."""
        path, base = Path(record.path), _backup(record)
        before = read_text(path)
        if before is None or (_digest(before) == record.sha256 and (base is None) is (record.backup is None)):
            return FilePlan(path, before, None if before is None else base)
        with careful(path):
            return FilePlan(path, before, reverted(record.form, before, base or (record.backup and ""), record.changes))


def _backup(record: Record) -> str | None:
    return read_text(Path(record.backup)) if record.backup else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_text(path: Path) -> str | None:
    with careful(path):
        return path.read_bytes().decode() if path.exists() else None


def write_text(path: Path, text: str | None) -> None:
    with careful(path):
        path.unlink(missing_ok=True) if text is None else replace_file(path, text.encode())


@contextmanager
def careful(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0].rstrip(".")
        raise CommandFailed(f"{path} was left as it is: {reason}.", "Correct that, and repeat the command.") from None
