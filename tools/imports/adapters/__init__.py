"""Adapters: readers of other tools' files, by family, and the batches of records to send."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from stores.records import JsonObject
from tools.imports.adapters import agents, chats, json_lines, mail, markdown
from tools.imports.adapters.base import Format, Item, beginning, by_line
from tools.imports.files import SourceFile, SourceFiles
from tools.imports.models import RecordToImport, RelationToImport, SkippedPart

LOOKED_AT = 2_000
"""Files that decide which format a source has."""
BATCH_BYTES = 1_000_000


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
    Format("engrain", "Export of Engrain, taken back whole", beginning(json_lines.HEAD), json_lines.export),
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


@dataclass(slots=True)
class Batch:
    """Next part of a source. `checkpoint` is the place after it."""

    records: list[JsonObject] = field(default_factory=list)
    relations: list[JsonObject] = field(default_factory=list)
    skipped: list[JsonObject] = field(default_factory=list)
    checkpoint: JsonObject = field(default_factory=dict)
    characters: int = 0
    is_last: bool = False

    @property
    def size(self) -> int:
        return len(self.records) + len(self.relations) + len(self.skipped)

    def add(self, item: Item) -> None:
        lists = {RecordToImport: self.records, RelationToImport: self.relations, SkippedPart: self.skipped}
        lists[type(item)].append(item.model_dump(mode="json", exclude_none=True))
        self.characters += len(item.content) if isinstance(item, RecordToImport) else 0

    def body(self) -> JsonObject:
        lists: JsonObject = {"records": [*self.records], "relations": [*self.relations], "skipped": [*self.skipped]}
        return lists | {"checkpoint": self.checkpoint}


def batches(adapter: Format, source: SourceFiles, after: Mapping[str, object], *, most: int) -> Iterator[Batch]:
    """Read a source from a checkpoint on; `after` is empty for all of it. Batches hold up to about 1 MB of text.

    A checkpoint names the file and the number of its items that are stored. The last batch may be empty.
    """
    batch, file_name, done = Batch(), str(after.get("file", "")), int(str(after.get("items", 0)))
    is_reached = not file_name
    for file in adapter.files(source):
        skip = 0
        if not is_reached:
            if file.name != file_name:
                continue
            is_reached, skip = True, done
        for number, item in enumerate(adapter.read(file), start=1):
            if number <= skip:
                continue
            batch.add(item)
            batch.checkpoint = {"file": file.name, "items": number}
            # Who makes a project may write into it with the next request.
            is_project = isinstance(item, RecordToImport) and item.entity_type == "project"
            if is_project or batch.size >= most or batch.characters >= BATCH_BYTES:
                yield batch
                batch = Batch(checkpoint=batch.checkpoint)
    if not is_reached:  # The file is gone: known records are recognised by their keys.
        yield from batches(adapter, source, {}, most=most)
    else:
        batch.is_last = True
        yield batch
