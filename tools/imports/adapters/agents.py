"""Sessions of coding agents: Claude Code, Codex, Gemini CLI and OpenCode."""

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast
from urllib.parse import quote

from tools.imports.adapters.base import (
    Format,
    Object,
    Sniffed,
    Thread,
    at,
    json_head,
    json_items,
    json_keys,
    json_lines,
    labels,
    listed,
    said,
    text_at,
)  # fmt: skip
from tools.imports.files import LINE_BYTES, SourceFile, SourceFiles
from tools.imports.records import ImportedRecord, Item, Origin, SkippedRecord

# Parts of a user's message that the tool wrote, not the user.
_NOISE = re.compile(
    r"\s*(?:<(?:system-reminder|command-|local-command-|bash-|user-prompt-submit|task-notification|ide_|"
    r"environment_context|user_instructions|INSTRUCTIONS|permissions|turn_aborted|skill|subagent_notification)|"
    r"# AGENTS\.md instructions|Caveat: The messages below|\[Request interrupted by user)"
)
_ASIDE = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")
_MESSAGES = """
    SELECT message.id, message.session_id, message.data, session.title, session.directory, message.time_created
    FROM message LEFT JOIN session ON session.id = message.session_id
    ORDER BY message.session_id, message.time_created, message.id
"""
_PARTS = "SELECT data FROM part WHERE message_id = ? ORDER BY id"


def _last(path: object) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] if isinstance(path, str) else ""


def _stem(file: SourceFile) -> str:
    return file.base.rpartition(".")[0]


def _is_claude_code(file: SourceFile) -> bool:
    return any("sessionId" in line and isinstance(line.get("message"), dict) for line in json_head(file))


def _claude_code(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    thread = Thread(_stem(file))
    for item in json_lines(file):
        if isinstance(item, SkippedRecord):
            yield item
            continue
        origin, line = item
        kind = line.get("type")
        thread.title = text_at(line, "customTitle") or text_at(line, "summary") or thread.title
        text = said(at(line, "message", "content"), _NOISE)
        if kind not in ("user", "assistant") or not text or any(line.get(mark) for mark in _ASIDE):
            continue
        thread.id = text_at(line, "sessionId") or thread.id
        thread.labels = labels((_last(line.get("cwd")), line.get("gitBranch")))
        key = text_at(line, "uuid") or f"{thread.id}:{origin.line}"
        yield thread.turn(key, kind, text, line.get("timestamp"), origin)


def _is_codex(file: SourceFile) -> bool:
    lines = json_head(file, 5)
    is_old = file.base.startswith("rollout-") and any(line.get("type") == "message" for line in lines)
    return is_old or any(line.get("type") == "session_meta" for line in lines)


def _codex(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    thread, is_begun = Thread(_stem(file)), False
    for item in json_lines(file):
        if isinstance(item, SkippedRecord):
            yield item
            continue
        origin, line = item
        payload = line["payload"] if isinstance(line.get("payload"), dict) else line
        # A fork repeats the head of the session that it comes from.
        if not is_begun and isinstance(payload.get("id"), str) and line.get("type") in ("session_meta", None):
            is_begun, thread.id = True, payload["id"]
            thread.labels = labels((_last(payload.get("cwd")), at(payload, "git", "branch")))
        role, text = payload.get("role"), said(payload.get("content"), _NOISE)
        if payload.get("type") == "message" and role in ("user", "assistant") and text:
            yield thread.turn(f"{thread.id}:{origin.line}", role, text, line.get("timestamp"), origin)


def _is_gemini(file: SourceFile) -> bool:
    if file.name.lower().endswith(".jsonl"):
        return any("projectHash" in line and "sessionId" in line for line in json_head(file, 3))
    return file.base.startswith("session-") and {"sessionId", "messages"} <= json_keys(file)


def _gemini(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    thread = Thread(_stem(file))
    if not file.name.lower().endswith(".jsonl"):
        thread.id = str(next(json_items(file, "sessionId"), thread.id))
        for message in json_items(file, "messages.item"):
            yield from _gemini_turn(thread, message, Origin(file.name))
        return
    # A log of messages, each written anew when it changes; what was rewound was said all the same.
    messages: dict[str, tuple[Origin, Object]] = {}
    for item in json_lines(file):
        if isinstance(item, SkippedRecord):
            yield item
            continue
        origin, line = item
        thread.id = text_at(line, "sessionId") or thread.id
        thread.title = text_at(line, "$set", "summary") or thread.title
        for message in (line, *listed(line, "$set", "messages")):
            if key := text_at(message, "id"):
                kept = {name: message.get(name) for name in ("id", "type", "timestamp", "content")}
                messages[key] = (origin, kept | {"content": said(kept["content"])})
    for origin, message in messages.values():
        yield from _gemini_turn(thread, message, origin)


def _gemini_turn(thread: Thread, message: object, origin: Origin) -> Iterator[ImportedRecord]:
    speaker = {"user": "user", "gemini": "assistant"}.get(text_at(message, "type"))
    text = said(at(message, "content"))
    if speaker and text:
        key = text_at(message, "id") or str(thread.turns)
        yield thread.turn(f"{thread.id}:{key}", speaker, text, at(message, "timestamp"), origin)


def _opencode_sessions(source: SourceFiles) -> Iterator[SourceFile]:
    sessions: dict[str, list[SourceFile]] = {}
    heads: dict[str, list[SourceFile]] = {}
    parts: dict[str, list[SourceFile]] = {}
    for file in source:
        kind, _, owner = file.folder.rpartition("/")
        if file.base == "opencode.db":
            yield file
        elif file.base.endswith(".json"):
            kind = kind.rpartition("/")[2]
            if kind == "message":
                sessions.setdefault(file.folder, []).append(file)
            elif kind == "part":
                parts.setdefault(owner, []).append(file)
            elif kind == "session":
                heads.setdefault(_stem(file), []).append(file)
    for folder, messages in sessions.items():
        session = folder.rpartition("/")[2]
        members = [*heads.get(session, ()), *(each for one in messages for each in (one, *parts.get(_stem(one), ())))]
        yield SourceFile(folder, sum(each.size for each in members), members=tuple(members))


def _opencode(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    if not file.members:
        yield from _opencode_database(file)
        return
    thread = Thread(file.base)
    messages: list[tuple[SourceFile, Object]] = []
    parts: dict[str, list[Object]] = {}
    for member in file.members:
        value = _json(member)
        if value is None:
            yield SkippedRecord(Origin(member.name), "It is no JSON object.")
        elif member.folder == file.name:
            messages.append((member, value))
        elif "/part/" in f"/{member.name}":
            parts.setdefault(member.folder.rpartition("/")[2], []).append(value)
        else:
            thread.title, thread.labels = text_at(value, "title"), labels((_last(value.get("directory")),))
    for member, value in sorted(messages, key=lambda each: (_number(at(each[1], "time", "created")), each[0].name)):
        told = parts.get(_stem(member), [])
        yield from _opencode_turn(thread, value | {"id": _stem(member)}, told, Origin(member.name))


def _opencode_turn(thread: Thread, message: Object, parts: list[Object], origin: Origin) -> Iterator[ImportedRecord]:
    role, spoken = message.get("role"), [part for part in parts if not (part.get("synthetic") or part.get("ignored"))]
    text = said([part for part in spoken if part.get("type") == "text"], _NOISE)
    if role in ("user", "assistant") and text:
        yield thread.turn(message["id"], role, text, at(message, "time", "created"), origin)


def _opencode_database(file: SourceFile) -> Iterator[Item]:
    with _on_disk(file) as path, closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as database:
        thread = Thread("")
        for key, session, data, title, directory, created in database.execute(_MESSAGES):
            origin = Origin(file.name)
            if session != thread.id:
                thread = Thread(str(session), str(title or ""), labels((_last(directory),)))
            message, parts = _object(data), [_object(row[0]) for row in database.execute(_PARTS, (key,))]
            if message is None:
                yield SkippedRecord(origin, f"Message {str(key)[:100]} is no JSON object.")
                continue
            dated = message | {"id": str(key), "time": {"created": created}}
            yield from _opencode_turn(thread, dated, [part for part in parts if part], origin)


@contextmanager
def _on_disk(file: SourceFile) -> Iterator[Path]:
    if file.path is not None:
        yield file.path
        return
    with tempfile.TemporaryDirectory() as folder, file.open() as stream:
        path = Path(folder, "opencode.db")
        with path.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
        yield path


def _json(file: SourceFile) -> Object | None:
    with file.open() as stream:
        return _object(stream.read(LINE_BYTES))


def _object(data: object) -> Object | None:
    try:
        value = json.loads(data if isinstance(data, (str, bytes)) else "")
    except (ValueError, RecursionError):
        return None
    return cast("Object", value) if isinstance(value, dict) else None


def _number(value: object) -> float:
    return value if isinstance(value, (int, float)) else 0


FORMATS = (
    Format(
        "claude-code",
        "Sessions of Claude Code (~/.claude/projects)",
        Sniffed(_is_claude_code, (".jsonl",)),
        _claude_code,
    ),
    Format("codex", "Sessions of Codex (~/.codex/sessions)", Sniffed(_is_codex, (".jsonl",)), _codex),
    Format("gemini-cli", "Chats of Gemini CLI (~/.gemini/tmp)", Sniffed(_is_gemini, (".json", ".jsonl")), _gemini),
    Format("opencode", "Sessions of OpenCode (~/.local/share/opencode)", _opencode_sessions, _opencode),
)
