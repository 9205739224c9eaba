"""Hostile input, in every format."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.records import JsonObject
from tests.tools.imports.sources import items, json_lines, made, records, skipped
from tools.imports.adapters import ADAPTERS, recognised
from tools.imports.adapters.base import fitted, imported
from tools.imports.adapters.values import moment
from tools.imports.files import open_source
from tools.imports.models import PlaceInSource, RecordToImport, SkippedPart

NAMES = (
    "conversations.json", "a.jsonl", "a.md", "CLAUDE.md", "a.mbox", "cur/1700000000.M1.host", "session-1.json",
    "session-1.jsonl", "opencode.db", "message/s/m.json", ".git",
)  # fmt: skip
DEEP = b'{"content": ' + b"[" * 100_000
BAD = {
    "empty": b"",
    "binary": bytes(range(256)) * 50,
    "truncated": b'[{"uuid": "1", "chat_messages": [{"uuid": "2", "sender": "human", "te',
    "deep": DEEP,
    "wide": "Grüße".encode("utf-16") * 100,
    "numbers": b'{"content": "x", "captured_at": 1e999, "ordinal": NaN, "id": 9' + b"9" * 5_000 + b"}\n",
    "mail": b"From x 10:00\nContent-Type: multipart/mixed; boundary=\nDate: \xff\nSubject: =?x?b?!?=\n"
    b"To: <<<>>,,;:\n\n--\n\nFrom x 10:01\n",
    "front": b"---\n" + b"a" + b" " * 50_000 + b"b\n- x\n: y\n---\n[[a]]",
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", NAMES)
def test_bad_content_never_raises(tmp_path: Path, name: str, kind: str) -> None:
    made(tmp_path, {name: BAD[kind]})
    for source in (open_source(tmp_path), open_source(tmp_path / name)):
        recognised(source)
        for adapter in ADAPTERS:
            assert items(adapter, source) == items(adapter, source)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800\0"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "parent", "role"]) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)
WORDS = st.sampled_from(["user", "assistant", "message", "gemini", "entity", "relation", "a"])
NODES = st.dictionaries(st.just("a"), st.fixed_dictionaries({}, optional={"message": JSON, "parent": WORDS | JSON}))
FIELDS = {
    "claude-code": "type sessionId message uuid timestamp cwd summary",
    "codex": "type payload role content id timestamp",
    "gemini-cli": "id type content timestamp sessionId $set messages",
    "opencode": "role time summary title directory type text",
    "jsonl": "content text id tags type metadata captured_at labels",
    "mcp-memory": "type name entityType observations from to relationType",
    "chatgpt": "mapping current_node id",
    "claude-chat": "chat_messages uuid name",
    "slack": "ts user files profile id name attachments text",
}


@pytest.mark.parametrize("adapter", FIELDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_json_becomes_records_that_fit(tmp_path: Path, adapter: str, data: st.DataObject) -> None:
    value = WORDS | JSON | NODES
    line = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS[adapter].split(), value))
    found = data.draw(st.lists(line, max_size=4))
    names = ("users.json", "c/2026-01-01.json", "conversations.json")
    made(tmp_path, dict.fromkeys(names, json.dumps(found)) | {"a.jsonl": json_lines(*found)})
    made(tmp_path, dict.fromkeys(("message/s/m.json", "part/m/p.json"), json.dumps(found[0] if found else [])))
    for source in (tmp_path, tmp_path / "a.jsonl", tmp_path / "conversations.json"):
        for item in items(adapter, open_source(source)):
            if isinstance(item, RecordToImport):
                assert 0 < len(item.key) <= 400
                assert item.content
                json.dumps(item.metadata, allow_nan=False).encode()
                (item.key + item.name + item.content + "".join(item.tags)).encode()


def test_records_are_cut_to_the_limits_of_the_store() -> None:
    origin = PlaceInSource(path="a.md")
    content = "# One\n" + "x" * 30_000 + "\n\n# Two\n" + "y" * 60_000
    tags = ["t" * 900, "", "t"]
    parts = list(fitted(imported("k", "n" * 900, content, origin, entity_type="note", tags=tags)))
    assert "".join(part.content for part in parts) == content
    assert [part.key for part in parts] == ["k", "k#2", "k#3"]
    assert parts[1].content.startswith("# Two")
    assert [part.name for part in parts] == ["n" * 200, "n" * 196 + " (2)", "n" * 196 + " (3)"]
    assert parts[0].tags == ["t" * 200, "t"]
    deep: JsonObject = {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}}
    given: JsonObject = {
        "memory_scope": "public",
        "x": float("nan"),
        "big": 2**60,
        "no": False,
        "none": None,
        "deep": deep,
    }
    (memory,) = fitted(imported("k" * 900, "", "a\0\ud800b", origin, metadata=given))
    assert (memory.name, memory.content, len(memory.key)) == ("a.md", "a\ufffd\ufffdb", 380)
    assert memory.metadata == {"x": "nan", "big": str(2**60), "no": False}


@pytest.mark.parametrize(
    ("value", "time"),
    [
        (0, "1970-01-01T00:00:00+00:00"), (1778148000000, "2026-05-07T10:00:00+00:00"), ("2099-12-31", "2099-12-31"),
        ("7d", None), ("2026-99-99", None), (1e300, None), (float("nan"), None), (True, None), ([], None),
    ],
)  # fmt: skip
def test_times(value: object, time: str | None) -> None:
    assert moment(value) == time


def test_a_key_counts_once_and_long_lines_are_skipped(tmp_path: Path) -> None:
    lines = [
        {"id": "1", "content": "One"},
        {"id": "1", "content": "Two"},
        {"content": "x" * 17_000_000},
        {"text": "Last"},
    ]
    source = made(tmp_path, {"a.jsonl": json_lines(*lines)})
    assert [each.content for each in records("jsonl", source)] == ["One", "Last"]
    assert skipped("jsonl", source) == ["A second record has the key 1.", "The line is too long."]


@pytest.mark.parametrize(
    ("end", "wrong"),
    [
        ("]", []),
        (" , 7]", ["Conversation 2 has no messages."]),
        ("", ["cut off"]),
        (", {", ["cut off"]),
        (", x]", ["cut off"]),
    ],
)
def test_an_array_is_read_up_to_where_it_is_damaged(tmp_path: Path, end: str, wrong: list[str]) -> None:
    talk = json.dumps({"uuid": "1", "chat_messages": [{"uuid": "2", "sender": "human", "text": "Grüße" * 500_000}]})
    source = made(tmp_path, {"conversations.json": f"\ufeff\n[ {talk} {end}"})
    found = items("claude-chat", source)
    assert [each.content for each in found if isinstance(each, RecordToImport)][:1] == ["Grüße" * 100_000]
    told = [each.reason for each in found if isinstance(each, SkippedPart)]
    assert len(told) == len(wrong)
    assert all(part in reason for part, reason in zip(wrong, told, strict=True))


def test_a_line_or_value_of_100_mb_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    with path.open("w") as out:
        out.write('[{"uuid": "1", "chat_messages": [{"text": "')
        out.writelines("x" * 1_000_000 for _ in range(100))
        out.write('"}]}]')
    tracemalloc.start()
    told = [skipped(adapter, open_source(path)) for adapter in ("claude-chat", "claude-code", "mbox")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [len(each) for each in told] == [1, 1, 0]
    assert peak < 100 * 2**20


def test_members_of_an_archive_that_are_left_out_are_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("notes/a.md", "Text")
        archive.writestr("../b.md", "Text")
    told = items("markdown", open_source(tmp_path / "a.zip"))
    assert [item.origin.path for item in told] == ["notes/a.md", "../b.md"]
    assert isinstance(told[1], SkippedPart)
