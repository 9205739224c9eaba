"""Adapters: readers of other tools' files, by family."""

from collections.abc import Iterator, Mapping

from tools.imports.adapters import agents, chats, json_lines, mail, markdown, slack
from tools.imports.adapters.base import Format
from tools.imports.files import SourceFile, SourceFiles
from tools.imports.records import Adapter, Item

LOOKED_AT = 2_000
"""Files that decide which format a source has."""


def _repository(source: SourceFiles) -> Iterator[SourceFile]:
    root = source.root
    if (root / ".git").exists() or all((root / name).exists() for name in ("HEAD", "objects", "refs")):
        yield SourceFile(root.resolve().name or ".", 0, path=root)


def _history(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    from tools.imports.adapters.history import history  # noqa: PLC0415 - pygit2 only for this format

    return history(file)


_FORMATS: tuple[Format, ...] = (
    Format("git", "History of a Git repository, by the first parents of HEAD", _repository, _history),
    *agents.FORMATS, *chats.FORMATS, *slack.FORMATS, *mail.FORMATS, *json_lines.FORMATS,
    *markdown.FORMATS,
)  # fmt: skip
ADAPTERS: Mapping[str, Adapter] = {each.name: each for each in _FORMATS}


def recognised(source: SourceFiles) -> Adapter | None:
    """Return the first format of which the source has a file; a vault under version control is a vault."""
    head = source.first(LOOKED_AT)
    formats = [each for each in _FORMATS if each.name == "markdown" or not (source.root / ".obsidian").is_dir()]
    return next((each for each in formats if any(True for _ in each.find(head))), None)
