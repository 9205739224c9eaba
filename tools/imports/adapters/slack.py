"""Exports of Slack: `users.json`, `channels.json` and a folder of days for each channel."""

import re
from collections.abc import Iterator, Mapping
from html import unescape

from stores.records import JsonObject
from tools.imports.adapters.base import (
    READ_ERRORS,
    Format,
    at,
    first_line,
    json_items,
    labels,
    listed,
    moment,
    text_at,
    unread,
)  # fmt: skip
from tools.imports.files import SourceFile, SourceFiles
from tools.imports.records import ImportedRecord, Item, Origin, SkippedRecord

_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_MENTION = re.compile(r"<([@#])([A-Z0-9]+)(?:\|([^<>]*))?>")
_LISTS = ("users.json", "channels.json", "groups.json", "dms.json", "mpims.json")
_NOTICES = ("join", "leave", "topic", "purpose", "name", "archive", "unarchive")


def _channels(source: SourceFiles) -> Iterator[SourceFile]:
    lists: dict[str, list[SourceFile]] = {}
    days: dict[str, list[SourceFile]] = {}
    for file in source:
        if file.base in _LISTS:
            lists.setdefault(file.folder, []).append(file)
        elif _DAY.fullmatch(file.base):
            days.setdefault(file.folder, []).append(file)
    for folder, members in days.items():
        known = lists.get(folder.rpartition("/")[0], [])
        if any(file.base == "users.json" for file in known):
            yield SourceFile(folder, sum(file.size for file in members), members=(*known, *members))


def _slack(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    names: dict[str, str] = {}
    for member in file.members:
        origin = Origin(member.name)
        try:
            for value in json_items(member, "item"):
                if member.base in _LISTS:
                    names |= _name(value)
                elif record := _message(value, names, file.base, origin):
                    yield record
        except READ_ERRORS as error:
            yield SkippedRecord(origin, unread(error))


def _name(value: object) -> dict[str, str]:
    profile = at(value, "profile")
    shown = text_at(profile, "display_name") or text_at(profile, "real_name") or text_at(value, "real_name")
    name = shown or text_at(value, "name")
    # The folder of a direct message has its id as a name.
    found = {text_at(value, "id"): name or text_at(value, "id")}
    return found if profile is not None else found | {f"#{name}": text_at(value, "id")}


def _message(value: object, names: Mapping[str, str], channel: str, origin: Origin) -> ImportedRecord | None:
    stamp, subtype = text_at(value, "ts"), text_at(value, "subtype")
    text = _text(value, names)
    if not stamp or not text.strip() or subtype.partition("_")[2] in _NOTICES:
        return None
    user = text_at(value, "user") or text_at(value, "bot_id")
    speaker = names.get(user) or text_at(value, "user_profile", "real_name") or text_at(value, "username") or user
    place = names.get(f"#{channel}") or channel
    metadata: JsonObject = {
        "thread_id": f"{place}:{text_at(value, 'thread_ts') or stamp}", "speaker": speaker,
        "captured_at": moment(float(stamp)) if re.fullmatch(r"\d{1,12}(\.\d+)?", stamp) else None,
        "participants": [*labels([speaker, *(names.get(each, each) for _, each, _ in _MENTION.findall(text))])],
        "labels": [channel], "attachments": [text_at(each, "name") or "file" for each in listed(value, "files")],
    }  # fmt: skip
    return ImportedRecord(f"{place}:{stamp}", first_line(text), text, origin, metadata=metadata)


def _text(value: object, names: Mapping[str, str]) -> str:
    def named(match: re.Match[str]) -> str:
        return match[1] + (names.get(match[2]) or match[3] or match[2])

    texts = [text_at(each, "text") or text_at(each, "fallback") for each in listed(value, "attachments")]
    text = text_at(value, "text") or "\n".join(texts)
    return unescape(_MENTION.sub(named, text))


FORMATS = (Format("slack", "Export of Slack (folder or archive)", _channels, _slack),)
