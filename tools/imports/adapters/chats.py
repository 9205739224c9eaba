"""Exports of ChatGPT, claude.ai and Slack."""

import re
from collections.abc import Iterator, Mapping
from html import unescape

from stores.records import JsonObject
from tools.imports.adapters.base import READ_ERRORS, Item, Thread, imported, json_array, place_in, unread
from tools.imports.adapters.values import Object, at, first_line, labels, listed, moment, said, text_at
from tools.imports.files import SourceFile, SourceFiles
from tools.imports.models import PlaceInSource, RecordToImport, SkippedPart

_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_MENTION = re.compile(r"<([@#])([A-Z0-9]+)(?:\|([^<>]*))?>")
_LISTS = ("users.json", "channels.json", "groups.json", "dms.json", "mpims.json")
_NOTICES = ("join", "leave", "topic", "purpose", "name", "archive", "unarchive")


def chatgpt(file: SourceFile) -> Iterator[Item]:
    origin = place_in(file)
    for number, talk in enumerate(json_array(file), start=1):
        nodes = at(talk, "mapping")
        if not isinstance(nodes, dict):
            yield SkippedPart(origin=origin, reason=f"Conversation {number} has no messages.")
            continue
        thread = Thread(text_at(talk, "conversation_id") or text_at(talk, "id") or str(number), text_at(talk, "title"))
        for key, message in _branch(nodes, text_at(talk, "current_node")):
            is_shown = (
                at(message, "content", "content_type") in ("text", "multimodal_text")
                and at(message, "recipient") in ("all", None)  # Others are tools.
                and not at(message, "metadata", "is_visually_hidden_from_conversation")
            )
            text = said(listed(message, "content", "parts")) if is_shown else ""
            role, time = at(message, "author", "role"), at(message, "create_time")
            yield from thread.turn(origin, text_at(message, "id") or key, role, text, time)


def _branch(nodes: Object, last: str) -> list[tuple[str, object]]:
    key = last if last in nodes else next(reversed(nodes), "")
    found: dict[str, object] = {}
    while key in nodes and key not in found:
        found[key] = at(nodes[key], "message")
        key = text_at(nodes[key], "parent")
    return [*reversed(found.items())]


def claude_chat(file: SourceFile) -> Iterator[Item]:
    origin = place_in(file)
    for number, talk in enumerate(json_array(file), start=1):
        if not isinstance(at(talk, "chat_messages"), list):
            yield SkippedPart(origin=origin, reason=f"Conversation {number} has no messages.")
            continue
        thread = Thread(text_at(talk, "uuid") or str(number), text_at(talk, "name"))
        for message in listed(talk, "chat_messages"):
            # `text` names tools too, and is alone in old exports.
            text = said(listed(message, "content")) if listed(message, "content") else text_at(message, "text")
            key, time = text_at(message, "uuid"), at(message, "created_at")
            for turn in thread.turn(origin, key, at(message, "sender"), text, time):
                added = [*listed(message, "attachments"), *listed(message, "files")]
                turn.metadata["attachments"] = [text_at(each, "file_name") for each in added]
                yield turn


def channels(source: SourceFiles) -> Iterator[SourceFile]:
    lists = [file for file in source if file.base in _LISTS]
    days: dict[str, list[SourceFile]] = {}
    for file in source if lists else ():
        if _DAY.fullmatch(file.base):
            days.setdefault(file.folder, []).append(file)
    for folder, members in days.items():
        known = [each for each in lists if each.folder == folder.rpartition("/")[0]]
        if known:
            yield SourceFile(folder, sum(file.size for file in members), members=(*known, *members))


def slack(file: SourceFile) -> Iterator[Item]:
    names: dict[str, str] = {}
    for member in file.members:
        origin = place_in(member)
        try:
            for value in json_array(member):
                if member.base in _LISTS:
                    names |= _name(value)
                elif record := _message(value, names, file.base, origin):
                    yield record
        except READ_ERRORS as error:
            yield unread(origin, error)


def _name(value: object) -> dict[str, str]:
    profile = at(value, "profile")
    shown = text_at(profile, "display_name") or text_at(profile, "real_name") or text_at(value, "real_name")
    name = shown or text_at(value, "name")
    # The folder of a direct message has its id as a name.
    found = {text_at(value, "id"): name or text_at(value, "id")}
    return found if profile is not None else found | {f"#{name}": text_at(value, "id")}


def _message(value: object, names: Mapping[str, str], channel: str, origin: PlaceInSource) -> RecordToImport | None:
    def named(match: re.Match[str]) -> str:
        return match[1] + (names.get(match[2]) or match[3] or match[2])

    stamp, subtype = text_at(value, "ts"), text_at(value, "subtype")
    added = [text_at(each, "text") or text_at(each, "fallback") for each in listed(value, "attachments")]
    text = text_at(value, "text") or "\n".join(added)
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
    text = unescape(_MENTION.sub(named, text))
    return imported(f"{place}:{stamp}", first_line(text), text, origin, metadata=metadata)
