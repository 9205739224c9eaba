"""Documents of the demo (this repository, the built-in handbook, or a folder) and questions about them."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cli.demo.clients import DemoFailed
from tools.entities.chunking import chunks

SUFFIXES = frozenset({".md", ".markdown", ".rst", ".txt"})
FILES_LIMIT = 1000
FILE_BYTES_LIMIT = 1_000_000
TOTAL_CHARACTERS_LIMIT = 2_000_000
"""About five minutes of indexing on two slow cores."""
UNREAD_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})

_OUTPUT = re.compile(r"<!-- demo output -->.*?<!-- end of demo output -->", re.DOTALL)
"""The demo's output in the README holds all its questions."""
OWN_FILES = ("README.md", "CONTRIBUTING.md", "AGENTS.md")
GENERATED = "reference"
"""Generated pages would double the time."""


@dataclass(frozen=True, slots=True)
class Text:
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Corpus:
    name: str
    url: str
    texts: list[Text]
    skipped: int = 0
    """Files that are not text or exceed a limit."""

    @property
    def characters(self) -> int:
        return sum(len(text.content) for text in self.texts)


def own_corpus() -> tuple[Corpus, bool]:
    """Read this repository's documents (True), or the built-in handbook without a checkout."""
    root = checkout()
    if root is not None:
        return _corpus("Engrain documentation", root, _own_files(root)), True
    handbook = Path(__file__).parent / "handbook"
    return _corpus("Team handbook", handbook, sorted(handbook.glob("*.md"))), False


def checkout() -> Path | None:
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "README.md").is_file() else None


def _own_files(root: Path) -> list[Path]:
    named = [root / name for name in OWN_FILES if (root / name).is_file()]
    docs = root / "docs"
    return named + sorted(path for path in docs.rglob("*.md") if GENERATED not in path.relative_to(docs).parts)


def folder_corpus(folder: Path) -> Corpus:
    """Read the text files of a folder up to the limits, top level first.

    Raises:
        DemoFailed: It is no folder or holds no readable text.
    """
    root = folder.expanduser().resolve()
    if not root.is_dir():
        raise DemoFailed(f"{folder} is not a folder.")
    files = sorted(_files(root), key=lambda path: (len(path.parts), path))
    corpus = _corpus(root.name or str(root), root, files)
    if not corpus.texts:
        raise DemoFailed(f"{folder} holds no Markdown, reStructuredText or text file that could be read.")
    return corpus


def _files(root: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in UNREAD_FOLDERS]
        for name in names:
            path = Path(place, name)
            if not name.startswith(".") and path.suffix.lower() in SUFFIXES and not path.is_symlink():
                yield path


def _corpus(name: str, root: Path, files: list[Path]) -> Corpus:
    texts: list[Text] = []
    room = TOTAL_CHARACTERS_LIMIT
    for path in files:
        content = _content(path)
        if content.strip() and len(content) <= room and len(texts) < FILES_LIMIT:
            room -= len(content)
            # A file name need not be valid Unicode; a request must be.
            where = path.relative_to(root).as_posix().encode(errors="replace").decode()
            texts.append(Text(where, content))
    return Corpus(name[:200], root.as_uri()[:2000], texts, len(files) - len(texts))


def _content(path: Path) -> str:
    try:
        if path.stat().st_size > FILE_BYTES_LIMIT:
            return ""
        data = path.read_bytes()
        return "" if b"\0" in data else _OUTPUT.sub("", data.decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return ""


FROM_HEADINGS = 2
GENERIC = frozenset({
    "about", "abstract", "acknowledgements", "added", "appendix", "background", "changed", "changelog", "conclusion",
    "contents", "contributing", "credits", "description", "examples", "faq", "features", "fixed", "getting started",
    "history", "index", "installation", "introduction", "license", "licence", "links", "notes", "overview",
    "quick start", "quickstart", "readme", "references", "removed", "requirements", "see also", "summary",
    "table of contents", "todo", "unreleased", "usage",
})  # fmt: skip
"""Headings of many documents."""

ASKING = frozenset({"are", "can", "do", "does", "how", "is", "should", "what", "when", "where", "which", "who", "why"})
"""First words of headings that are questions already."""
_NUMBER = re.compile(r"^[0-9]+(\.[0-9]+)*[.)]?\s+")


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    shows: str
    answered: bool = True
    """False if nothing answers it: the score must be low."""


KNOWLEDGE: tuple[Question, ...] = (
    Question("Which database keeps the ledger, and why that one?", "a decision that retired an older one"),
    Question("Can I safely repeat a request when the network failed?", "found by meaning, in quite other words"),
)
REPOSITORY = Question("How do I back up and restore the ledger?", "this repository's own documentation")
OFF_TOPIC = Question("How long does sourdough bread rest before baking?", "nobody wrote about it", answered=False)

AGENT_QUESTION = "Who may read what I remember in private?"


def questions_from(corpus: Corpus, *, most: int = FROM_HEADINGS) -> list[Question]:
    """Ask about one section of each of the largest documents; without headings, about their first words."""
    largest = sorted(corpus.texts, key=lambda text: (-len(text.content), text.path))
    found: dict[str, Question] = {}
    for text in largest:
        heading = next(_telling_headings(text.content), None) or _first_words(text.content)
        if heading is not None and heading.lower() not in found:
            found[heading.lower()] = Question(_asked(heading), f"a section of {text.path}")
        if len(found) == most:
            break
    return list(found.values())


def _asked(heading: str) -> str:
    if heading.split()[0].lower() in ASKING:
        return f"{heading}?"
    return f"What do we know about {heading}?"


def _telling_headings(content: str) -> Iterator[str]:
    paths = [piece.heading_path for piece in chunks(content) if piece.heading_path]
    for path in sorted(dict.fromkeys(paths), key=lambda path: len(path) == 1):
        heading = _NUMBER.sub("", path[-1]).strip(" .:?!*#")
        if heading.lower() not in GENERIC and 2 <= len(heading.split()) <= 10 and any(map(str.isalpha, heading)):
            yield heading


def _first_words(content: str) -> str | None:
    words = content.split()[:8]
    return " ".join(words).strip(" .,;:!?") if len(words) > 2 else None
