"""Sessions of coding agents: Claude Code, Codex, Gemini CLI and OpenCode."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from urllib.parse import quote

from tools.imports.adapters.base import READ_ERRORS, Item, Thread, by_line, json_object, place_in, unread
from tools.imports.adapters.values import Object, at, labels, listed, said, text_at
from tools.imports.files import LINE_BYTES, SourceFile, SourceFiles
from tools.imports.models import PlaceInSource, RecordToImport

# Parts of a user's message that the tool wrote, not the user.
_NOISE = re.compile(
    r"\s*(?:<(?:system-reminder|command-|local-command-|bash-|user-prompt-submit|task-notification|ide_|"
    r"environment_context|user_instructions|INSTRUCTIONS|permissions|turn_aborted|skill|subagent_notification)|"
    r"# AGENTS\.md instructions|Caveat: The messages below|\[Request interrupted by user)"
)
_ASIDE = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_MESSAGES = """
    SELECT message.id, message.session_id, message.time_created, message.data, session.title, session.directory
    FROM message LEFT JOIN session ON session.id = message.session_id WHERE session.parent_id IS NULL
    ORDER BY message.session_id, message.time_created, message.id
"""
_PARTS = "SELECT data FROM part WHERE message_id = ? ORDER BY id"


def _last(path: object) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] if isinstance(path, str) else ""


def claude_code(thread: Thread, line: Object, origin: PlaceInSource) -> Iterator[RecordToImport]:
    # Lines of the kind `summary` name other sessions.
    thread.title = text_at(line, "customTitle") or text_at(line, "aiTitle") or thread.title
    if not any(line.get(mark) for mark in _ASIDE):
        thread.id = text_at(line, "sessionId") or thread.id
        thread.labels = labels((_last(line.get("cwd")), line.get("gitBranch")))
        text = said(at(line, "message", "content"), _NOISE)
        yield from thread.turn(origin, text_at(line, "uuid"), line.get("type"), text, line.get("timestamp"))


def codex(thread: Thread, line: Object, origin: PlaceInSource) -> Iterator[RecordToImport]:
    # The first sessions had no payloads.
    payload = line["payload"] if isinstance(line.get("payload"), dict) else line
    # A fork repeats the head of the session that it comes from.
    if origin.line == 1:
        thread.id = text_at(payload, "id") or thread.id
        thread.is_left_out = at(payload, "source", "subagent") is not None
        thread.labels = labels((_last(payload.get("cwd")), at(payload, "git", "branch")))
    if payload.get("type") == "message":
        text = said(payload.get("content"), _NOISE)
        yield from thread.turn(origin, "", payload.get("role"), text, line.get("timestamp"))


def gemini(file: SourceFile) -> Iterator[Item]:
    if file.name.lower().endswith(".jsonl"):
        yield from by_line(_gemini)(file)
    else:
        yield from _gemini(Thread(file.stem), _json(file), place_in(file))


def _gemini(thread: Thread, line: Object, origin: PlaceInSource) -> Iterator[RecordToImport]:
    thread.id = text_at(line, "sessionId") or thread.id
    thread.title = text_at(line, "summary") or text_at(line, "$set", "summary") or thread.title
    thread.is_left_out = thread.is_left_out or line.get("kind") == "subagent"
    for message in (line, *listed(line, "messages"), *listed(line, "$set", "messages")):
        key, text = text_at(message, "id"), said(at(message, "displayContent") or at(message, "content"))
        if text and key not in thread.seen:  # A message is written again when its tools answer.
            thread.seen.add(key)
            yield from thread.turn(origin, f"{thread.id}:{key}", at(message, "type"), text, at(message, "timestamp"))


def opencode_sessions(source: SourceFiles) -> Iterator[SourceFile]:
    found: dict[tuple[str, str], list[SourceFile]] = {}
    for file in source:
        if file.base == "opencode.db":
            yield file
        elif file.base.endswith(".json") and file.name.count("/") > 1:
            kind, owner = file.name.split("/")[-3:-1]
            found.setdefault((kind, file.stem if kind == "session" else owner), []).append(file)
    for (kind, session), messages in found.items():
        if kind == "message":
            whole = [replace(one, members=tuple(found.get(("part", one.stem), ()))) for one in messages]
            members = (*found.get(("session", session), ()), *whole)
            yield SourceFile(messages[0].folder, sum(each.size for each in members), members=members)


def opencode(file: SourceFile) -> Iterator[Item]:
    if not file.members:
        yield from _opencode_database(file)
    thread = Thread(file.base)
    for member in file.members:  # Names grow with time.
        try:
            message, *parts = map(_json, (member, *member.members))
        except READ_ERRORS as error:
            yield unread(place_in(member), error)
            continue
        if member.folder == file.name:
            yield from _opencode_turn(thread, place_in(member), member.stem, message, parts)
        else:
            thread.title, thread.labels = text_at(message, "title"), labels((_last(message.get("directory")),))
            thread.is_left_out = message.get("parentID") is not None


def _opencode_database(file: SourceFile) -> Iterator[Item]:
    if file.path is None:
        raise ValueError("Unpack the archive to read the database in it.")
    with closing(sqlite3.connect(f"file:{quote(str(file.path))}?mode=ro", uri=True)) as database:
        thread, origin = Thread(""), place_in(file)
        for key, session, created, data, title, directory in database.execute(_MESSAGES):
            if session != thread.id:
                thread = Thread(str(session), str(title or ""), labels((_last(directory),)))
            try:
                message, *parts = map(json_object, (data, *(row[0] for row in database.execute(_PARTS, (key,)))))
            except READ_ERRORS as error:
                yield unread(origin, error)
                continue
            yield from _opencode_turn(thread, origin, str(key), message | {"time": {"created": created}}, parts)


def _opencode_turn(
    thread: Thread, origin: PlaceInSource, key: str, message: Object, parts: list[Object]
) -> Iterator[RecordToImport]:
    spoken = [part for part in parts if not (part.get("synthetic") or part.get("ignored"))]
    if message.get("summary") is not True:  # Made to shorten the context.
        yield from thread.turn(origin, key, message.get("role"), said(spoken, _NOISE), at(message, "time", "created"))


def _json(file: SourceFile) -> Object:
    with file.open() as stream:
        return json_object(stream.read(LINE_BYTES))
