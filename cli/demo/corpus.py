"""What the demo reads: this repository's own documents, the built-in handbook, or any folder of text."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cli.demo.failure import DemoFailed

SUFFIXES = frozenset({".md", ".markdown", ".rst", ".txt"})
FILES_LIMIT = 1000
FILE_BYTES_LIMIT = 1_000_000
TOTAL_CHARACTERS_LIMIT = 2_000_000
"""Some five minutes of indexing on two slow cores, of which two are waited for."""
UNREAD_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})

_OUTPUT = re.compile(r"<!-- demo output -->.*?<!-- end of demo output -->", re.DOTALL)
"""What the README shows of the demo: read as text, it would hold every question that the demo asks."""
OWN_FILES = ("README.md", "CONTRIBUTING.md", "AGENTS.md")
GENERATED = "reference"
"""Tables and schemas in `docs`, nearly half of all text there: nobody who tries the demo is to wait for them."""


@dataclass(frozen=True, slots=True)
class Text:
    """One document: where it stands in its corpus, and what it says."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents that become one source."""

    name: str
    url: str
    texts: list[Text]
    skipped: Counter[str] = field(default_factory=Counter)
    """Reason → number of files."""

    @property
    def characters(self) -> int:
        """The size of all texts together."""
        return sum(len(text.content) for text in self.texts)


def own_corpus() -> tuple[Corpus, bool]:
    """Read this repository's documents; without a checkout around us, the built-in handbook. True for the former."""
    root = checkout()
    if root is not None:
        return _corpus("Engrain documentation", root, _own_files(root)), True
    handbook = Path(__file__).parent / "handbook"
    return _corpus("Team handbook", handbook, sorted(handbook.glob("*.md"))), False


def checkout() -> Path | None:
    """The source checkout that we run from; None when Engrain was installed without one."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "README.md").is_file() else None


def _own_files(root: Path) -> list[Path]:
    named = [root / name for name in OWN_FILES if (root / name).is_file()]
    docs = root / "docs"
    return named + sorted(path for path in docs.rglob("*.md") if GENERATED not in path.relative_to(docs).parts)


def folder_corpus(folder: Path) -> Corpus:
    """Read the text files of a folder, those at the top first, as far as the limits go.

    Raises:
        DemoFailed: It is no folder, or holds no readable text.
    """
    root = folder.expanduser().resolve()
    if not root.is_dir():
        raise DemoFailed(f"{folder} is not a folder.")
    hidden = Counter[str]()
    files = sorted(_files(root, hidden), key=lambda path: (len(path.parts), path))
    corpus = _corpus(root.name or str(root), root, files)
    corpus.skipped.update(hidden)
    if not corpus.texts:
        raise DemoFailed(f"{folder} holds no Markdown, reStructuredText or text file that could be read.")
    return corpus


def _files(root: Path, skipped: Counter[str]) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        skipped["hidden"] += sum(name.startswith(".") and Path(name).suffix.lower() in SUFFIXES for name in names)
        folders[:] = [name for name in folders if not name.startswith(".") and name not in UNREAD_FOLDERS]
        for name in names:
            path = Path(place, name)
            if not name.startswith(".") and path.suffix.lower() in SUFFIXES and not path.is_symlink():
                yield path


def _corpus(name: str, root: Path, files: list[Path]) -> Corpus:
    corpus = Corpus(name[:200], root.as_uri()[:2000], [])
    room = TOTAL_CHARACTERS_LIMIT
    for path in files:
        content = _content(path)
        if content.reason is None and (len(content.text) > room or len(corpus.texts) >= FILES_LIMIT):
            content = _Content("", "beyond the demo's limit")
        if content.reason is not None:
            corpus.skipped[content.reason] += 1
            continue
        room -= len(content.text)
        # A file name need not be valid Unicode; what is sent must be.
        where = path.relative_to(root).as_posix().encode(errors="replace").decode()
        corpus.texts.append(Text(where, content.text))
    return corpus


@dataclass(frozen=True, slots=True)
class _Content:
    text: str
    reason: str | None = None
    """Why the file was not read."""


def _content(path: Path) -> _Content:
    try:
        if path.stat().st_size > FILE_BYTES_LIMIT:
            return _Content("", "over 1 MB")
        data = path.read_bytes()
    except OSError:
        return _Content("", "unreadable")
    if b"\0" in data:
        return _Content("", "binary")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _Content("", "not UTF-8")
    text = _OUTPUT.sub("", text)
    return _Content(text) if text.strip() else _Content("", "empty")
