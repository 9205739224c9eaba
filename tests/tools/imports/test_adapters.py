"""Records that each format yields."""

import zipfile
from email.message import EmailMessage
from pathlib import Path

import pygit2
import pytest

from tests.tools.imports import samples
from tests.tools.imports.sources import items, json_lines, made, records, relations, skipped
from tools.imports.adapters import ADAPTERS, recognised
from tools.imports.files import SourceFiles, open_source

SHOP = ["shop", "main"]
CONVERSATIONS: dict[str, tuple[str, dict[str, object], str, list[str] | None]] = {
    "claude-code": ("claude-code", {"-home-ann-shop/s1.jsonl": samples.CLAUDE_CODE}, "s1", SHOP),
    "codex": ("codex", {"05/rollout-a.jsonl": samples.CODEX, "05/rollout-b.jsonl": samples.CODEX_AGENT}, "c1", SHOP),
    "codex of 2025": ("codex", {"rollout-a.jsonl": samples.CODEX_OLD}, "c1", ["main"]),
    "gemini": ("gemini-cli", {"h/chats/session-1.json": samples.GEMINI}, "g1", None),
    "gemini log": ("gemini-cli", {"h/chats/session-1.jsonl": samples.GEMINI_LOG}, "g1", None),
    "opencode": ("opencode", samples.OPENCODE, "ses_1", ["shop"]),
    "opencode.db": ("opencode", {}, "ses_1", ["shop"]),
    "chatgpt": ("chatgpt", {"conversations.json": samples.CHATGPT}, "t1", None),
    "claude-chat": ("claude-chat", {"conversations.json": samples.CLAUDE_CHAT}, "t1", None),
}


def _zipped(folder: Path, path: Path) -> SourceFiles:
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*.*")):
            archive.write(file, file.relative_to(folder))
    return open_source(path)


@pytest.mark.parametrize("case", CONVERSATIONS)
def test_conversations(tmp_path: Path, case: str) -> None:
    adapter, files, thread, labels = CONVERSATIONS[case]
    source = made(tmp_path / "in", files | {"in.txt": ""})
    if case == "opencode.db":
        samples.opencode_database(tmp_path / "in" / case)
    assert recognised(source) is ADAPTERS[adapter]
    found = items(adapter, source)
    assert items(adapter, source) == found
    first, second, *rest = records(adapter, source)
    assert [(each.content, each.metadata["speaker"], each.metadata["ordinal"]) for each in (first, second)] == [
        ("Fix it", "user", 1), ("Done.", "assistant", 2),
    ]  # fmt: skip
    assert (first.entity_type, first.key != second.key) == ("raw_memory", True)
    assert first.metadata["thread_id"] == second.metadata["thread_id"] == thread
    assert first.metadata.get("labels") == labels
    assert str(first.metadata["captured_at"]).startswith("2026-05-07T10:00:00")
    assert [each.content for each in rest] == (["Two", "One"] if case == "chatgpt" else [])
    bad = {"chatgpt": ["Conversation 3 has no messages."], "claude-chat": ["Conversation 2 has no messages."]}
    assert skipped(adapter, source) == bad.get(case, [])
    if case != "opencode.db":
        assert items(adapter, _zipped(tmp_path / "in", tmp_path / "a.zip")) == found


def test_slack(tmp_path: Path) -> None:
    source = made(tmp_path / "in", samples.SLACK)
    assert recognised(source) is ADAPTERS["slack"]
    first, second = records("slack", source)
    assert records("slack", _zipped(tmp_path / "in", tmp_path / "a.zip")) == [first, second]
    assert (first.key, first.content) == ("C1:1778148000.000100", "Ask @Bob & #help")
    assert (first.metadata["speaker"], first.metadata["labels"]) == ("Ann", ["general"])
    assert first.metadata["participants"] == ["Ann", "Bob", "C9"]
    assert first.metadata["thread_id"] == second.metadata["thread_id"] == "C1:1778148000.000100"
    assert second.metadata["attachments"] == ["a.pdf"]
    assert str(second.metadata["captured_at"]).startswith("2026-05-07T10:00:01")


def test_instructions_become_rules_and_guides(tmp_path: Path) -> None:
    text = "# Shop\n\n## Layout\n\nCode is in src.\n\n## Tests\n\n- Run `make test`.\n\n## Tests\n\nNever skip them.\n"
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
    front = {"description": "Style", "globs": "*.py", "alwaysapply": "true"}
    assert found[".cursor/rules/style.mdc#"].metadata["front_matter"] == front


def test_notes_of_a_vault(tmp_path: Path) -> None:
    fields = ["title: 'The shop'", "tags: [retail, '#web']", "aliases:", "  - Store", "created: 2024-05-07"]
    front = "\r\n".join(["---", *fields, "type: Decision", "mood: calm", "---", ""])
    body = "We sell [[Sub/Tea#Green|tea]] and [coffee](Coffee%20beans.md#x). #goods/hot `#code` [[Nobody]] ![[tea]]\n"
    notes = {"Shop.md": front + body, "Sub/Tea.md": "# Tea\n\nSee [[shop]].", "Coffee beans.md": "Beans."}
    source = made(tmp_path, notes | {".obsidian/app.json": "{}", "new/2024.md": "# Plan\n", "CLAUDE.md": ""})
    assert recognised(source) is ADAPTERS["markdown"]
    coffee, shop, tea, plan = records("markdown", source)
    assert (shop.name, shop.entity_type, shop.tags) == ("The shop", "decision", ["retail", "web", "goods/hot"])
    assert shop.content == body
    assert shop.metadata == {"captured_at": "2024-05-07", "front_matter": {"mood": "calm", "aliases": ["Store"]}}
    assert [(each.name, each.entity_type) for each in (coffee, tea, plan)] == [
        ("Coffee beans", "note"), ("Tea", "note"), ("Plan", "note"),
    ]  # fmt: skip
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
    html = (
        "<head><title>x</title></head><style>x{}</style><header>Some</header> <b>bold</b><br>&amp; more<!-- > <p>no -->"
    )
    message.add_alternative(html, subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    return message.as_bytes()


LATIN = "From: Jörg <j@x>\nMessage-ID: <6@x>\nDate: Thu, 1 Jan 1970 00:00:00 +0000\n"
LATIN += "Content-Type: text/plain; charset=unknown-8bit\n\nGrüße\n"


def test_mail(tmp_path: Path) -> None:
    mails = [
        _mail(1, "Hello\n\nFrom here on\n", X_Gmail_Labels="Inbox,=?utf-8?q?Gr=C3=BC=C3=9Fe?="),
        _mail(2, In_Reply_To="<1@x>"),
        _mail(3, None, In_Reply_To="<2@x>", Date="nonsense"),
        _mail(4, References="<5@x>"),
        _mail(5, References="<4@x>"),
        LATIN.encode("latin-1"),
    ]
    stamp = b"From ann@example.org Thu May  7 10:00:00 2026\n"
    quoted = [stamp + mail.replace(b"\nFrom here", b"\n>From here") for mail in mails]
    made(tmp_path, {"box/all.mbox": b"\n".join(quoted)})
    made(tmp_path, {f"dir/.Sent/cur/170000000{number}.M1.host:2,S": mail for number, mail in enumerate(mails)})
    for adapter, source in (("mbox", open_source(tmp_path / "box")), ("maildir", open_source(tmp_path / "dir"))):
        assert recognised(source) is ADAPTERS[adapter]
        found = records(adapter, source)
        assert [each.key for each in found] == [f"<{number}@x>" for number in range(1, 7)]
        assert [each.metadata["thread_id"] for each in found] == [f"<{number}@x>" for number in (1, 1, 1, 5, 5, 6)]
        first, second, third, *_, latin = found
        assert (first.name, first.content.rstrip()) == ("Grüße 1", "Hello\n\nFrom here on")
        assert (first.metadata["speaker"], first.metadata["captured_at"]) == ("Ann Ö", "2026-05-07T10:00:00+02:00")
        assert first.metadata["participants"] == ["Ann Ö", "ann@example.org", "bob@example.org"]
        assert (first.metadata["labels"], first.metadata["attachments"]) == (["Inbox", "Grüße"], ["a.pdf"])
        assert second.metadata["labels"] == [{"mbox": "all", "maildir": "Sent"}[adapter]]
        assert (third.content, "captured_at" in third.metadata) == ("Some bold\n& more", False)
        assert (latin.metadata["speaker"], latin.content.strip()) == ("Jörg", "Grüße")
        assert latin.metadata["captured_at"] == "1970-01-01T00:00:00+00:00"


def test_json_lines(tmp_path: Path) -> None:
    decision = {"id": 7, "content": "We use tea.", "name": "Tea", "type": "decision", "tags": ["x"]}
    told = {"text": "Hi", "thread_id": "t", "speaker": "Ann", "metadata": {"memory_scope": "public"}}
    dated = {"captured_at": "2099-01-01", "metadata": {"a": 1}}
    text = json_lines(decision | dated, told, {"content": " "})
    source = made(tmp_path, {"x.jsonl": text + "[]\n{\n"})
    assert recognised(source) is ADAPTERS["jsonl"]
    first, second = records("jsonl", source)
    assert (first.key, first.name, first.entity_type, first.tags) == ("7", "Tea", "decision", ["x"])
    assert first.metadata == {"a": 1, "captured_at": "2099-01-01"}
    assert (first.origin.line, first.origin.begin, first.origin.end) == (1, 0, text.index("\n") + 1)
    assert (second.key, second.entity_type) == ("x.jsonl:2", "raw_memory")
    assert second.metadata == {"thread_id": "t", "speaker": "Ann"}
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
    assert (shop.entity_type, shop.tags, shop.content) == ("topic", ["company"], "Shop")
    assert relations("mcp-memory", source) == [(ann.key, "WORKS_AT", shop.key)]
    assert len(skipped("mcp-memory", source)) == 1


def _commit(repository: pygit2.Repository, message: str, files: int, parents: list[pygit2.Oid]) -> pygit2.Oid:
    index = pygit2.Index()
    for number in range(files):
        blob = repository.create_blob(message.encode())
        index.add(pygit2.IndexEntry(f"f{number:03}.txt", blob, pygit2.enums.FileMode.BLOB))
    who = pygit2.Signature("Ann Ö", "ann@example.org", samples.SECONDS, 120)
    return repository.create_commit(None, who, who, message, index.write_tree(repository), parents)


@pytest.mark.parametrize("kind", ["bare", "worktree", "shallow"])
def test_the_history_of_a_repository(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "shop"
    repository = pygit2.init_repository(str(path), bare=kind == "bare", initial_head="main")
    first = _commit(repository, "Begin\n\nWith tea.\n", 60, [])
    side = _commit(repository, "Aside", 61, [first])
    merge = _commit(repository, "Merge", 2, [first, side])
    repository.references.create("refs/heads/main", merge)
    if kind == "shallow":
        (path / ".git/shallow").write_text(f"{merge}\n")
    source = open_source(path)
    assert recognised(source) is ADAPTERS["git"]
    *begun, merged = records("git", source)
    assert (merged.key, merged.name, merged.entity_type) == (str(merge), "Merge", "episode")
    assert merged.metadata["occurred_at"] == "2026-05-07T10:00:00+00:00"
    assert merged.metadata["speaker"] == "Ann Ö"
    if kind == "shallow":
        assert (begun, merged.content) == ([], "Merge")
        return
    assert [(each.key, each.name) for each in begun] == [(str(first), "Begin")]
    assert begun[0].content.startswith("With tea.\n\nChanged files:\n- f000.txt\n")
    assert begun[0].content.endswith("- and 10 more")
