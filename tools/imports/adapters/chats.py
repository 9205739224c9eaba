"""Exports of ChatGPT and claude.ai: `conversations.json`, alone or in the archive."""

from collections.abc import Iterator, Mapping

from tools.imports.adapters.base import (
    Format,
    Object,
    Sniffed,
    Thread,
    at,
    json_items,
    json_keys,
    listed,
    said,
    text_at,
)
from tools.imports.files import SourceFile
from tools.imports.records import Item, Origin, SkippedRecord


def _has(member: str) -> Sniffed:
    return Sniffed(lambda file: "conv" in file.base.lower() and member in json_keys(file, "item"), (".json",))


def _chatgpt(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    for number, talk in enumerate(json_items(file, "item"), start=1):
        nodes = at(talk, "mapping")
        if not isinstance(nodes, dict):
            yield SkippedRecord(Origin(file.name), f"Conversation {number} has no messages.")
            continue
        thread = Thread(text_at(talk, "conversation_id") or text_at(talk, "id") or str(number), text_at(talk, "title"))
        for key, message in _branch(nodes, text_at(talk, "current_node")):
            role, kind = text_at(message, "author", "role"), text_at(message, "content", "content_type")
            text = said(listed(message, "content", "parts"))
            is_shown = kind in ("text", "multimodal_text", "") and not at(
                message, "metadata", "is_visually_hidden_from_conversation"
            )
            if role in ("user", "assistant") and text and is_shown:
                made = at(message, "create_time")
                yield thread.turn(text_at(message, "id") or key, role, text, made, Origin(file.name))


def _branch(nodes: Object, last: str) -> list[tuple[str, object]]:
    """Return the messages from the root to a node, else to the last node of the tree."""
    key = last if last in nodes else next(reversed(nodes), "")
    found: dict[str, object] = {}
    while key in nodes and key not in found:
        found[key] = at(nodes[key], "message")
        key = text_at(nodes[key], "parent")
    return [*reversed(found.items())]


def _claude_chat(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    for number, talk in enumerate(json_items(file, "item"), start=1):
        messages = at(talk, "chat_messages")
        if not isinstance(messages, list):
            yield SkippedRecord(Origin(file.name), f"Conversation {number} has no messages.")
            continue
        thread = Thread(text_at(talk, "uuid") or str(number), text_at(talk, "name"))
        for message in messages:
            role = {"human": "user", "assistant": "assistant"}.get(text_at(message, "sender"))
            text = said(listed(message, "content")) or text_at(message, "text")
            if role is None or not text.strip():
                continue
            key = text_at(message, "uuid") or f"{thread.id}:{thread.turns + 1}"
            turn = thread.turn(key, role, text, at(message, "created_at"), Origin(file.name))
            added = [*listed(message, "attachments"), *listed(message, "files")]
            turn.metadata["attachments"] = [text_at(each, "file_name") for each in added]
            yield turn


FORMATS = (
    Format("chatgpt", "Export of ChatGPT (conversations.json or the archive)", _has("mapping"), _chatgpt),
    Format(
        "claude-chat", "Export of claude.ai (conversations.json or the archive)", _has("chat_messages"), _claude_chat
    ),
)
