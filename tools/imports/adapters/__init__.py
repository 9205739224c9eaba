"""Adapters: readers of other tools' files, by family."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from tools.imports.adapters import agents, chats, engrain, json_lines, mail, markdown
from tools.imports.adapters.base import Format, Item, beginning, by_line
from tools.imports.files import SourceFile, SourceFiles

LOOKED_AT = 2_000
"""Files that decide which format a source has."""


def _repository(source: SourceFiles) -> Iterator[SourceFile]:
    root = source.root
    if (root / ".git").exists() or all((root / name).exists() for name in ("HEAD", "objects", "refs")):
        yield SourceFile(root.resolve().name or ".", 0, path=root)


def _history(file: SourceFile) -> Iterator[Item]:
    from tools.imports.adapters.history import history  # noqa: PLC0415 - pygit2 only for this format

    return history(file)


# Where several formats fit, the first is taken.
_FORMATS = (
    Format("git", "History of a Git repository, by the first parents of HEAD", _repository, _history),
    Format("engrain", "Export of Engrain, taken back whole", beginning(engrain.HEAD), engrain.export),
    Format("claude-code", "Sessions of Claude Code (~/.claude/projects)",
           beginning(rb'"(?:parentUuid|leafUuid|isSnapshotUpdate)"\s*:', r"\.jsonl$"), by_line(agents.claude_code)),
    Format("codex", "Sessions of Codex (~/.codex/sessions)",
           beginning(rb'"session_meta"|\A\{"id".{,200}"instructions"', r"\.jsonl$"), by_line(agents.codex)),
    Format("gemini-cli", "Chats of Gemini CLI (~/.gemini/tmp)",
           beginning(rb'"projectHash"\s*:', r"(?:^|/)session-[^/]*\.jsonl?$"), agents.gemini),
    Format("opencode", "Sessions of OpenCode (~/.local/share/opencode)", agents.opencode_sessions, agents.opencode),
    Format("chatgpt", "Export of ChatGPT (conversations.json or the archive)",
           beginning(rb'"mapping"\s*:\s*\{', r"conv[^/]*\.json$"), chats.chatgpt),
    Format("claude-chat", "Export of claude.ai (conversations.json or the archive)",
           beginning(rb'"chat_messages"\s*:\s*\[', r"conv[^/]*\.json$"), chats.claude_chat),
    Format("slack", "Export of Slack (folder or archive)", chats.channels, chats.slack),
    Format("mbox", "Mail in mbox files, such as Gmail's Takeout", beginning(rb"\AFrom \S[^\n]*\d\d:\d\d"), mail.mbox),
    Format("maildir", "Mail in Maildir folders", mail.maildir_folders, mail.maildir),
    Format("mcp-memory", "File of the MCP memory server (memory.json)",
           beginning(rb'"(?:observations|relationType)"\s*:', r"\.jsonl?$"), json_lines.graph, False),
    Format("jsonl", "JSON Lines with `content`",
           beginning(rb'"(?:content|text)"\s*:\s*"', r"\.(?:jsonl|ndjson)$"), by_line(json_lines.jsonl), False),
    Format("instructions", "Instructions for coding agents, such as CLAUDE.md",
           markdown.instruction_files, markdown.instructions, False),
    Format("markdown", "Markdown notes, such as an Obsidian vault", markdown.notes, markdown.note, False),
)  # fmt: skip
ADAPTERS: Mapping[str, Format] = {each.name: each for each in _FORMATS}


def recognised(source: SourceFiles) -> Format | None:
    """Return the first format of which the source has a file; a vault under version control is a vault."""
    head = replace(source, scan=lambda: islice(source, LOOKED_AT))
    formats = [each for each in _FORMATS if each.name == "markdown" or not (source.root / ".obsidian").is_dir()]
    return next((each for each in formats if any(True for _ in each.find(head))), None)
