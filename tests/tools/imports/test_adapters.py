"""What each format yields."""

import json
import sqlite3
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pygit2
import pytest

from tests.tools.imports.sources import items, json_lines, made, records, relations, skipped
from tools.imports.adapters import ADAPTERS, recognised
from tools.imports.files import SourceFiles, open_source

NOW = "2026-05-07T10:00:00.000Z"
CLAUDE = {"sessionId": "s1", "cwd": "/home/ann/shop", "gitBranch": "main", "timestamp": NOW}
CHATGPT_TURN = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}, "create_time": 1.5e9}


def _claude_code() -> str:
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Done."},
        {"type": "tool_use", "name": "x"},
    ]
    result = [{"type": "tool_result", "content": "output"}]
    reminded = [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "Thanks"}]
    return json_lines(
        {"type": "summary", "summary": "Fix the import", "leafUuid": "x"},
        {**CLAUDE, "type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix it"}},
        {**CLAUDE, "type": "assistant", "uuid": "u2", "message": {"role": "assistant", "content": parts}},
        {**CLAUDE, "type": "user", "uuid": "u3", "message": {"role": "user", "content": result}},
        {**CLAUDE, "type": "user", "uuid": "u4", "isMeta": True, "message": {"role": "user", "content": "Caveat"}},
        {**CLAUDE, "type": "user", "uuid": "u5", "message": {"role": "user", "content": reminded}},
    )


def _codex() -> str:
    def message(role: str, text: str) -> dict[str, object]:
        payload = {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
        return {"timestamp": NOW, "type": "response_item", "payload": payload}

    meta = {"id": "c1", "cwd": "/home/ann/shop", "git": {"branch": "main"}}
    called = {"type": "function_call", "name": "shell", "arguments": "{}"}
    return json_lines(
        {"timestamp": NOW, "type": "session_meta", "payload": meta},
        message("user", "<environment_context>x</environment_context>"),
        message("developer", "Obey"),
        message("user", "Fix it"),
        {"timestamp": NOW, "type": "response_item", "payload": called},
        {"timestamp": NOW, "type": "event_msg", "payload": {"type": "user_message", "message": "Fix it"}},
        message("assistant", "Done."),
    )


def _gemini() -> dict[str, object]:
    thoughts = [{"subject": "x"}]
    return {
        "sessionId": "g1", "projectHash": "h",
        "messages": [
            {"id": "1", "type": "user", "timestamp": NOW, "content": [{"text": "Fix it"}]},
            {"id": "2", "type": "info", "timestamp": NOW, "content": "Updated"},
            {"id": "3", "type": "gemini", "timestamp": NOW, "content": "Done.", "thoughts": thoughts},
        ],
    }  # fmt: skip


def _gemini_log() -> str:
    session = _gemini()
    first, second, third = session.pop("messages")  # type: ignore[misc]
    return json_lines(session, first, second, {**third, "content": ""}, {"$set": {"lastUpdated": NOW}}, third)


def _opencode() -> dict[str, str | bytes]:
    def part(text: str, kind: str = "text") -> str:
        return json.dumps({"type": kind, "text": text})

    return {
        "storage/session/p/ses_1.json": json.dumps({"id": "ses_1", "title": "Imports", "directory": "/home/ann/shop"}),
        "storage/message/ses_1/msg_b.json": json.dumps({"role": "assistant", "time": {"created": 1778148001000}}),
        "storage/message/ses_1/msg_a.json": json.dumps({"role": "user", "time": {"created": 1778148000000}}),
        "storage/part/msg_a/prt_1.json": part("Fix it"),
        "storage/part/msg_b/prt_1.json": part("hm", "reasoning"),
        "storage/part/msg_b/prt_2.json": part("Done."),
    }


def _opencode_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE session (id TEXT, title TEXT, directory TEXT)")
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
        database.execute("CREATE TABLE part (id TEXT, message_id TEXT, data TEXT)")
        database.execute("INSERT INTO session VALUES ('ses_1', 'Imports', '/home/ann/shop')")
        for number, (role, text) in enumerate((("user", "Fix it"), ("assistant", "Done."))):
            data = json.dumps({"role": role})
            database.execute(
                "INSERT INTO message VALUES (?, 'ses_1', ?, ?)", (f"m{number}", 1778148000000 + number, data)
            )
            text_part, tool = json.dumps({"type": "text", "text": text}), json.dumps({"type": "tool", "text": "x"})
            database.execute("INSERT INTO part VALUES ('1', ?, ?)", (f"m{number}", text_part))
            database.execute("INSERT INTO part VALUES ('2', ?, ?)", (f"m{number}", tool))
    database.close()


def _agent_source(name: str, folder: Path) -> SourceFiles:
    if name == "opencode.db":
        _opencode_database(folder / name)
        return open_source(folder)
    files: dict[str, dict[str, str | bytes]] = {
        "claude-code": {"-home-ann-shop/s1.jsonl": _claude_code()},
        "codex": {"2026/05/07/rollout-x.jsonl": _codex()},
        "gemini.json": {"h/chats/session-1.json": json.dumps(_gemini())},
        "gemini.jsonl": {"h/chats/session-1.jsonl": _gemini_log()},
        "opencode": _opencode(),
    }
    return made(folder, files[name])


@pytest.mark.parametrize(
    ("name", "adapter", "thread", "labels"),
    [
        ("claude-code", "claude-code", "s1", ["shop", "main"]),
        ("codex", "codex", "c1", ["shop", "main"]),
        ("gemini.json", "gemini-cli", "g1", None),
        ("gemini.jsonl", "gemini-cli", "g1", None),
        ("opencode", "opencode", "ses_1", ["shop"]),
        ("opencode.db", "opencode", "ses_1", ["shop"]),
    ],
)
def test_sessions_of_agents(tmp_path: Path, name: str, adapter: str, thread: str, labels: list[str] | None) -> None:
    source = _agent_source(name, tmp_path)
    assert recognised(source) is ADAPTERS[adapter]
    assert skipped(adapter, source) == []
    first, second, *rest = records(adapter, source)
    assert [(each.content, each.metadata["speaker"], each.metadata["ordinal"]) for each in (first, second)] == [
        ("Fix it", "user", 1),
        ("Done.", "assistant", 2),
    ]
    assert first.entity_type == "raw_memory"
    assert first.key != second.key
    assert first.metadata["thread_id"] == second.metadata["thread_id"] == thread
    assert first.metadata.get("labels") == labels
    assert str(first.metadata["captured_at"]).startswith("2026-05-07T10:00:00")
    assert [each.content for each in rest] == (["Thanks"] if adapter == "claude-code" else [])
    assert items(adapter, source) == items(adapter, source)


def test_chatgpt_follows_the_current_branch(tmp_path: Path) -> None:
    def node(parent: str | None, text: str, role: str = "user", **message: object) -> dict[str, object]:
        content = {"content_type": "text", "parts": [text]}
        return {
            "parent": parent,
            "message": {**CHATGPT_TURN, "id": text, "author": {"role": role}, "content": content, **message},
        }

    nodes: dict[str, object] = {
        "root": {"parent": None, "message": None},
        "system": node("root", "Be nice", "system"),
        "a": node("system", "Hi"),
        "old": node("a", "Retracted", "assistant"),
        "new": node("a", "Hello", "assistant"),
        "hidden": node("new", "Hidden", metadata={"is_visually_hidden_from_conversation": True}),
        "tool": node("hidden", "output", "tool"),
    }
    cycle = {"x": node("y", "One"), "y": node("x", "Two", "assistant")}
    talks = [
        {"title": "Greeting", "create_time": 1, "mapping": nodes, "current_node": "tool", "conversation_id": "t1"},
        {"title": "Cycle", "mapping": cycle, "current_node": "x", "id": "t2"},
        {"title": "Odd", "mapping": 7},
    ]
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(talks))
        archive.writestr("chat.html", "<html>")
    source = open_source(tmp_path / "export.zip")
    assert recognised(source) is ADAPTERS["chatgpt"]
    found = records("chatgpt", source)
    assert [(each.metadata["thread_id"], each.name, each.content) for each in found] == [
        ("t1", "Greeting", "Hi"), ("t1", "Greeting", "Hello"), ("t2", "Cycle", "Two"), ("t2", "Cycle", "One"),
    ]  # fmt: skip
    assert found[0].metadata["captured_at"] == "2017-07-14T02:40:00+00:00"
    assert skipped("chatgpt", source) == ["Conversation 3 has no messages."]


def test_claude_chat(tmp_path: Path) -> None:
    told = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}]
    messages = [
        {"uuid": "1", "sender": "human", "text": "Hi", "created_at": NOW, "attachments": [{"file_name": "a.txt"}]},
        {"uuid": "2", "sender": "assistant", "text": "hm Hello", "content": told, "created_at": NOW},
    ]
    source = made(
        tmp_path, {"conversations.json": json.dumps([{"uuid": "t", "name": "Talk", "chat_messages": messages}])}
    )
    assert recognised(source) is ADAPTERS["claude-chat"]
    first, second = records("claude-chat", source)
    assert (first.content, first.metadata["attachments"], second.content) == ("Hi", ["a.txt"], "Hello")


def test_instructions_become_rules_and_guides(tmp_path: Path) -> None:
    text = (
        "# Shop\n\n## Layout\n\nThe code is in src.\n\n## Tests\n\n- Run `make test`.\n\n## Tests\n\nNever skip them.\n"
    )
    mdc = "---\ndescription: Style\nglobs: *.py\nalwaysApply: true\n---\nTabs.\n"
    source = made(tmp_path, {"CLAUDE.md": text, ".cursor/rules/style.mdc": mdc, "docs/other.md": "x"})
    assert recognised(source) is ADAPTERS["instructions"]
    found = {each.key: each for each in records("instructions", source)}
    assert {key: (each.entity_type, each.name) for key, each in found.items()} == {
        ".cursor/rules/style.mdc#": ("rule", "Tabs."),
        "CLAUDE.md#Shop/Layout": ("guide", "Layout"),
        "CLAUDE.md#Shop/Tests": ("rule", "Tests"),
        "CLAUDE.md#Shop/Tests~2": ("rule", "Tests"),
    }
    assert found[".cursor/rules/style.mdc#"].metadata["front_matter"] == {
        "description": "Style", "globs": "*.py", "alwaysapply": "true",
    }  # fmt: skip


def test_notes_of_a_vault(tmp_path: Path) -> None:
    fields = ["title: 'The shop'", "tags: [retail, '#web']", "aliases:", "  - Store", "created: 2024-05-07"]
    front = "\n".join(["---", *fields, "type: Decision", "mood: calm", "---", ""])
    body = "We sell [[Sub/Tea#Green|tea]] and [coffee](Coffee%20beans.md#x). #goods/hot `#code` [[Nobody]] ![[tea]]\n"
    files = {
        "Shop.md": front + body,
        "Sub/Tea.md": "# Tea\n\nSee [[shop]].",
        "Coffee beans.md": "Beans.",
        ".obsidian/app.json": "{}",
    }
    source = made(tmp_path, files)
    assert recognised(source) is ADAPTERS["markdown"]
    coffee, shop, tea = records("markdown", source)
    assert (shop.name, shop.entity_type, shop.tags, shop.content) == (
        "The shop",
        "decision",
        ("retail", "web", "goods/hot"),
        body,
    )
    assert shop.metadata == {"captured_at": "2024-05-07", "aliases": ["Store"], "front_matter": {"mood": "calm"}}
    assert [(each.name, each.entity_type) for each in (coffee, tea)] == [("Coffee beans", "note"), ("Tea", "note")]
    assert relations("markdown", source) == [
        ("Shop.md", "RELATED_TO", "Sub/Tea.md"),
        ("Shop.md", "RELATED_TO", "Coffee beans.md"),
        ("Sub/Tea.md", "RELATED_TO", "Shop.md"),
    ]


def _mail(number: int, text: str | None = "Text", **headers: str) -> bytes:
    message = EmailMessage()
    given = {"From": "Ann Ö <ann@example.org>", "To": "bob@example.org", "Subject": f"Grüße {number}"}
    given |= {"Message-ID": f"<{number}@x>", "Date": "Thu, 07 May 2026 10:00:00 +0200"}
    for name, value in (given | {name.replace("_", "-"): value for name, value in headers.items()}).items():
        message[name] = value
    if text is not None:
        message.set_content(text)
    message.add_alternative("<style>x{}</style><p>Some <b>bold</b><br>&amp; more</p><!-- > no -->", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    return message.as_bytes()


def test_mail(tmp_path: Path) -> None:
    mails = [
        _mail(1, "Hello\n\nFrom here on\n", X_Gmail_Labels="Inbox,=?utf-8?q?Gr=C3=BC=C3=9Fe?="),
        _mail(2, In_Reply_To="<1@x>"),
        _mail(3, None, In_Reply_To="<2@x>", Date="nonsense"),
        _mail(4, References="<5@x>"),
        _mail(5, References="<4@x>"),
    ]
    stamp = b"From ann@example.org Thu May  7 10:00:00 2026\n"
    made(
        tmp_path, {"box/all.mbox": b"\n".join(stamp + mail.replace(b"\nFrom here", b"\n>From here") for mail in mails)}
    )
    made(tmp_path, {f"dir/.Sent/cur/{number}": mail for number, mail in enumerate(mails)})
    for folder, adapter in (("box", "mbox"), ("dir", "maildir")):
        source = open_source(tmp_path / folder)
        assert recognised(source) is ADAPTERS[adapter]
        found = records(adapter, source)
        assert [each.key for each in found] == [f"<{number}@x>" for number in range(1, 6)]
        assert [each.metadata["thread_id"] for each in found] == ["<1@x>", "<1@x>", "<1@x>", "<5@x>", "<5@x>"]
        first = found[0]
        assert (first.name, first.content.rstrip()) == ("Grüße 1", "Hello\n\nFrom here on")
        assert first.metadata["speaker"] == "Ann Ö"
        assert first.metadata["participants"] == ["Ann Ö", "ann@example.org", "bob@example.org"]
        assert (first.metadata["labels"], first.metadata["attachments"]) == (["Inbox", "Grüße"], ["a.pdf"])
        assert (first.metadata["captured_at"], found[1].metadata["labels"]) == (
            "2026-05-07T10:00:00+02:00",
            [{"mbox": "all", "maildir": "Sent"}[adapter]],
        )
        assert found[2].content == "Some bold\n& more"
        assert "captured_at" not in found[2].metadata


def test_slack(tmp_path: Path) -> None:
    messages = [
        {
            "type": "message",
            "user": "U1",
            "ts": "1778148000.000100",
            "text": "Ask <@U2> &amp; <#C9|help>",
            "thread_ts": "1778148000.000100",
        },
        {"type": "message", "user": "U2", "ts": "1778148001.000100", "text": "Yes", "thread_ts": "1778148000.000100"},
        {"type": "message", "subtype": "channel_join", "user": "U2", "ts": "1778148002.000100", "text": "joined"},
    ]
    users = [
        {"id": "U1", "name": "ann", "profile": {"real_name": "Ann"}},
        {"id": "U2", "name": "bob", "profile": {"display_name": "Bob"}},
    ]
    channels = json.dumps([{"id": "C1", "name": "general"}])
    source = made(
        tmp_path,
        {"users.json": json.dumps(users), "channels.json": channels, "general/2026-05-07.json": json.dumps(messages)},
    )
    assert recognised(source) is ADAPTERS["slack"]
    first, second = records("slack", source)
    assert (first.key, first.content) == ("C1:1778148000.000100", "Ask @Bob & #help")
    assert (first.metadata["speaker"], first.metadata["labels"]) == ("Ann", ["general"])
    assert first.metadata["thread_id"] == second.metadata["thread_id"] == "C1:1778148000.000100"
    assert str(second.metadata["captured_at"]).startswith("2026-05-07T10:00:01")


def test_json_lines(tmp_path: Path) -> None:
    text = json_lines(
        {
            "id": 7,
            "content": "We use tea.",
            "name": "Tea",
            "type": "decision",
            "tags": ["x"],
            "captured_at": "2099-01-01",
            "metadata": {"a": 1},
        },
        {
            "text": "Plain",
            "captured_at": "soon",
            "thread_id": "t",
            "speaker": "Ann",
            "metadata": {"memory_scope": "public"},
        },
        {"content": " "},
    )
    source = made(tmp_path, {"x.jsonl": text + "[]\n{\n"})
    assert recognised(source) is ADAPTERS["jsonl"]
    first, second = records("jsonl", source)
    assert (first.key, first.name, first.entity_type, first.tags) == ("7", "Tea", "decision", ("x",))
    assert first.metadata == {"a": 1, "captured_at": "2099-01-01"}
    assert (second.key, second.entity_type, second.metadata) == (
        "x.jsonl:2",
        "raw_memory",
        {"thread_id": "t", "speaker": "Ann"},
    )
    assert (first.origin.line, first.origin.begin, first.origin.end) == (1, 0, text.index("\n") + 1)
    assert len(skipped("jsonl", source)) == 3


def test_the_file_of_the_mcp_memory_server(tmp_path: Path) -> None:
    text = json_lines(
        {"type": "relation", "from": "Ann", "to": "Shop", "relationType": "works at"},
        {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["Likes tea", "Is kind"]},
        {"type": "entity", "name": "Shop", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Ann", "to": "Nobody", "relationType": "knows"},
    )
    source = made(tmp_path, {"memory.json": text})
    assert recognised(source) is ADAPTERS["mcp-memory"]
    ann, shop = records("mcp-memory", source)
    assert (ann.entity_type, ann.content) == ("person", "Likes tea\nIs kind")
    assert (shop.entity_type, shop.tags, shop.content) == ("topic", ("company",), "Shop")
    assert relations("mcp-memory", source) == [(ann.key, "WORKS_AT", shop.key)]
    assert len(skipped("mcp-memory", source)) == 1


def _commit(repository: pygit2.Repository, message: str, files: int, parents: list[pygit2.Oid]) -> pygit2.Oid:
    index = pygit2.Index()
    for number in range(files):
        index.add(
            pygit2.IndexEntry(
                f"f{number:03}.txt", repository.create_blob(f"{message}".encode()), pygit2.enums.FileMode.BLOB
            )
        )
    who = pygit2.Signature("Ann Ö", "ann@example.org", 1778148000, 120)
    return repository.create_commit(None, who, who, message, index.write_tree(repository), parents)


@pytest.mark.parametrize("is_bare", [True, False])
def test_the_history_of_a_repository(tmp_path: Path, *, is_bare: bool) -> None:
    repository = pygit2.init_repository(str(tmp_path / "shop"), bare=is_bare, initial_head="main")
    first = _commit(repository, "Begin\n\nWith tea.\n", 60, [])
    side = _commit(repository, "Aside", 61, [first])
    merge = _commit(repository, "Merge", 2, [first, side])
    repository.references.create("refs/heads/main", merge)
    repository.references.create("refs/tags/v1", first)
    source = open_source(tmp_path / "shop")
    assert recognised(source) is ADAPTERS["git"]
    begun, merged = records("git", source)
    assert (begun.key, begun.name, begun.entity_type, begun.tags) == (str(first), "Begin", "episode", ("v1",))
    assert begun.content.startswith("With tea.\n\nChanged files:\n- f000.txt\n")
    assert begun.content.endswith("- and 10 more")
    assert (begun.metadata["occurred_at"], begun.metadata["speaker"]) == ("2026-05-07T10:00:00+00:00", "Ann Ö")
    assert merged.name == "Merge"
