"""Conversations as their tools write them. Each holds the turns "Fix it" and "Done.", and what is to be left out."""

import json
import sqlite3
from pathlib import Path

from tests.tools.imports.sources import json_lines

NOW = "2026-05-07T10:00:00.000Z"
SECONDS = 1778148000


def _claude(number: int, kind: str, content: object, **more: object) -> dict[str, object]:
    line = {
        "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/home/ann/shop", "sessionId": "s1",
        "version": "2.1.12", "gitBranch": "main", "type": kind, "uuid": f"u{number}", "timestamp": NOW,
    }  # fmt: skip
    return line | {"message": {"role": kind, "content": content}} | more


CLAUDE_CODE = json_lines(
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}, "isSnapshotUpdate": False},
    {"type": "summary", "summary": "Title of another session", "leafUuid": "x"},
    _claude(1, "user", "<command-name>/clear</command-name>"),
    _claude(2, "user", [{"type": "text", "text": "<system-reminder>x"}, {"type": "text", "text": "Fix it"}]),
    _claude(3, "assistant", [{"type": "thinking", "thinking": "hm", "signature": "x"}]),
    _claude(4, "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]),
    _claude(5, "user", [{"type": "tool_result", "tool_use_id": "t", "content": "output"}], toolUseResult={}),
    _claude(6, "user", "Caveat", isMeta=True),
    _claude(7, "user", "Summary", isCompactSummary=True),
    _claude(8, "assistant", [{"type": "text", "text": "Aside"}], isSidechain=True, agentId="a"),
    _claude(9, "assistant", [{"type": "text", "text": "API Error"}], isApiErrorMessage=True),
    {"type": "system", "subtype": "turn_duration", "sessionId": "s1", "uuid": "u10", "content": "x"},
    _claude(11, "assistant", [{"type": "text", "text": "Done."}]),
)


def _codex(kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": NOW, "type": kind, "payload": payload}


def _codex_message(role: str, text: str) -> dict[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    return _codex("response_item", type="message", role=role, content=[{"type": kind, "text": text}])


_CODEX = [
    _codex_message("developer", "<permissions instructions>"),
    _codex_message("user", "# AGENTS.md instructions for /home/ann/shop"),
    _codex_message("user", "<environment_context>x</environment_context>"),
    _codex("session_meta", id="parent", cwd="/elsewhere"),
    _codex("turn_context", cwd="/home/ann/shop", model="gpt-5"),
    _codex_message("user", "Fix it"),
    _codex("event_msg", type="user_message", message="Fix it"),
    _codex("response_item", type="reasoning", summary=[], encrypted_content="x"),
    _codex("response_item", type="function_call", name="shell", arguments="{}", call_id="c"),
    _codex("response_item", type="function_call_output", call_id="c", output="x"),
    _codex("compacted", message="Summary"),
    _codex_message("assistant", "Done."),
]
CODEX = json_lines(_codex("session_meta", id="c1", cwd="/home/ann/shop", git={"branch": "main"}, source="cli"), *_CODEX)
CODEX_AGENT = json_lines(_codex("session_meta", id="c2", source={"subagent": "review"}), *_CODEX)
CODEX_OLD = json_lines(
    {"id": "c1", "timestamp": NOW, "instructions": None, "git": {"branch": "main"}},
    {"record_type": "state"},
    *({**each["payload"], "timestamp": NOW} for each in _CODEX[5::6] if isinstance(each["payload"], dict)),
)

_GEMINI_HEAD = {"sessionId": "g1", "projectHash": "h", "startTime": NOW, "lastUpdated": NOW, "kind": "main"}
_GEMINI: list[dict[str, object]] = [
    {"id": "1", "type": "user", "timestamp": NOW, "content": [{"text": "Fix it"}, {"inlineData": {"data": "x"}}]},
    {"id": "2", "type": "info", "timestamp": NOW, "content": "Updated"},
    {
        "id": "3",
        "type": "gemini",
        "timestamp": NOW,
        "content": "",
        "toolCalls": [{"id": "t", "result": [{"text": "x"}]}],
    },
    {"id": "4", "type": "gemini", "timestamp": NOW, "content": "Done.", "thoughts": [{"subject": "x"}]},
]
GEMINI = _GEMINI_HEAD | {"messages": _GEMINI}
GEMINI_LOG = json_lines(
    _GEMINI_HEAD, *_GEMINI, {**_GEMINI[3], "tokens": {}}, {"$set": {"messages": _GEMINI}}, {"$rewindTo": "3"}
)

OPENCODE: dict[str, object] = {
    "storage/session/p/ses_1.json": {"id": "ses_1", "title": "Shop", "directory": "/home/ann/shop", "projectID": "p"},
    "storage/session/p/ses_2.json": {"id": "ses_2", "title": "Agent", "directory": "/", "parentID": "ses_1"},
    "storage/message/ses_1/msg_1.json": {"id": "msg_1", "role": "user", "time": {"created": SECONDS * 1000}},
    "storage/message/ses_1/msg_2.json": {"id": "msg_2", "role": "assistant", "time": {"created": SECONDS * 1000}},
    "storage/message/ses_2/msg_3.json": {"id": "msg_3", "role": "user", "time": {"created": SECONDS * 1000}},
    "storage/part/msg_1/prt_1.json": {"type": "text", "text": "Fix it"},
    "storage/part/msg_1/prt_2.json": {"type": "text", "text": "Called the Read tool", "synthetic": True},
    "storage/part/msg_2/prt_3.json": {"type": "reasoning", "text": "hm"},
    "storage/part/msg_2/prt_4.json": {"type": "tool", "tool": "bash", "state": {"output": "x"}},
    "storage/part/msg_2/prt_5.json": {"type": "text", "text": "Done."},
    "storage/part/msg_3/prt_6.json": {"type": "text", "text": "Explore"},
}


def opencode_database(path: Path) -> None:
    """Write the sessions above as the newer versions keep them."""
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, directory TEXT, time_created INTEGER)"
        )
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
        database.execute("CREATE TABLE part (id TEXT, message_id TEXT, time_created INTEGER, data TEXT)")
        for name, value in OPENCODE.items():
            _, kind, owner, file = name.split("/")
            row = (file.removesuffix(".json"), owner, SECONDS * 1000, json.dumps(value))
            if kind == "session" and isinstance(value, dict):
                row = (row[0], value.get("parentID"), value["title"], value["directory"], row[2])
            database.execute(f"INSERT INTO {kind} VALUES ({', '.join('?' * len(row))})", row)
    database.close()


def _node(parent: str | None, text: str, role: str = "user", **message: object) -> dict[str, object]:
    content = {"content_type": "text", "parts": [text]}
    told = {"id": text, "author": {"role": role}, "create_time": SECONDS, "content": content, "recipient": "all"}
    return {"parent": parent, "children": [], "message": told | message}


CHATGPT = [
    {
        "title": "Greeting", "create_time": SECONDS, "current_node": "end", "conversation_id": "t1",
        "mapping": {
            "root": {"parent": None, "message": None},
            "system": _node("root", "", "system"),
            "custom": _node("system", "", content={"content_type": "user_editable_context", "user_profile": "x"}),
            "hidden": _node("custom", "Hidden", metadata={"is_visually_hidden_from_conversation": True}),
            "a": _node("hidden", "Fix it", content={"content_type": "multimodal_text", "parts": [
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}, "Fix it"]}),
            "old": _node("a", "Retracted", "assistant"),
            "think": _node("a", "", "assistant", content={"content_type": "thoughts", "thoughts": []}),
            "call": _node("think", "{prompt}", "assistant", recipient="dalle.text2im"),
            "tool": _node("call", "output", "tool"),
            "end": _node("tool", "Done.", "assistant"),
        },
    },
    {"title": "Cycle", "mapping": {"x": _node("y", "One"), "y": _node("x", "Two")}, "current_node": "x", "id": "t2"},
    {"title": "Odd", "mapping": 7},
]  # fmt: skip
CLAUDE_CHAT = [
    {
        "uuid": "t1", "name": "Greeting", "account": {"uuid": "x"},
        "chat_messages": [
            {"uuid": "1", "sender": "human", "text": "Fix it", "created_at": NOW, "attachments": [], "files": [
                {"file_name": "a.txt"}]},
            {"uuid": "2", "sender": "assistant", "text": "```\nThis block is not supported\n```", "content": [
                {"type": "tool_use", "name": "x", "input": {}}], "created_at": NOW},
            {"uuid": "3", "sender": "assistant", "text": "hm Done.", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done."}], "created_at": NOW},
        ],
    },
    {"uuid": "t2", "chat_messages": None},
]  # fmt: skip


def _slack(second: int, user: str, text: str, **more: object) -> dict[str, object]:
    thread = f"{SECONDS}.000100"
    return {
        "type": "message",
        "user": user,
        "ts": f"{SECONDS + second}.000100",
        "text": text,
        "thread_ts": thread,
    } | more


SLACK = {
    "users.json": [
        {"id": "U1", "name": "ann", "profile": {"real_name": "Ann", "display_name": ""}},
        {"id": "U2", "name": "bob", "profile": {"real_name": "Robert", "display_name": "Bob"}},
    ],
    "channels.json": [{"id": "C1", "name": "general", "members": ["U1", "U2"]}],
    "general/2026-05-07.json": [
        _slack(0, "U1", "Ask <@U2> &amp; <#C9|help>"),
        _slack(1, "U2", "Yes", files=[{"name": "a.pdf"}]),
        _slack(2, "U2", "<@U2> has joined", subtype="channel_join"),
    ],
}
