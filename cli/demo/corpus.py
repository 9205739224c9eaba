"""Documents of the demo: this repository, the built-in handbook, or a folder."""

import re
from dataclasses import dataclass
from pathlib import Path

from cli.folders import files_of
from stores.errors import EngrainError

SUFFIXES = frozenset({".md", ".markdown", ".rst", ".txt"})
FILE_BYTES_LIMIT = 400_000
TOTAL_CHARACTERS_LIMIT = 2_000_000
"""About five minutes of indexing on two slow cores."""
OWN_FILES = ("README.md", "CONTRIBUTING.md", "AGENTS.md")
GENERATED = "reference"
"""Generated pages would double the time."""
_OUTPUT = re.compile(r"<!-- demo output -->.*?<!-- end of demo output -->", re.DOTALL)
"""The demo's output in the README holds all its questions."""
_HEADING = re.compile(r"^#{2,4} +(.+?)[ :?#]*$", re.MULTILINE)


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
    def question(self) -> str:
        """Ask about the last section of the largest document, or else about its first words."""
        content = max(self.texts, key=lambda text: len(text.content)).content
        headings = _HEADING.findall(content)
        return f"What do we know about {headings[-1] if headings else ' '.join(content.split()[:8])}?"


def checkout() -> Path | None:
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "README.md").is_file() else None


def own_corpus() -> Corpus:
    """Read this repository's documents, or the built-in handbook without a checkout."""
    root = checkout()
    if root is None:
        handbook = Path(__file__).parent / "handbook"
        return _corpus("Team handbook", handbook, sorted(handbook.glob("*.md")))
    docs = root / "docs"
    pages = sorted(path for path in docs.rglob("*.md") if GENERATED not in path.relative_to(docs).parts)
    return _corpus("Engrain documentation", root, [*(root / name for name in OWN_FILES), *pages])


def folder_corpus(folder: Path) -> Corpus:
    """Read the text files of a folder up to the limits, top level first; EngrainError if there are none."""
    root = folder.expanduser().resolve()
    if not root.is_dir():
        raise EngrainError(f"{folder} is not a folder.")
    corpus = _corpus(
        root.name or str(root), root, sorted(files_of(root, SUFFIXES), key=lambda path: (len(path.parts), path))
    )
    if not corpus.texts:
        raise EngrainError(f"{folder} holds no Markdown, reStructuredText or text file that could be read.")
    return corpus


def _corpus(name: str, root: Path, files: list[Path]) -> Corpus:
    texts: list[Text] = []
    room = TOTAL_CHARACTERS_LIMIT
    for path in files:
        content = _content(path)
        if content.strip() and len(content) <= room:
            room -= len(content)
            # A file name need not be valid Unicode; a request must be.
            where = path.relative_to(root).as_posix().encode(errors="replace").decode()
            texts.append(Text(where, content))
    return Corpus(name[:200], root.as_uri()[:2000], texts, len(files) - len(texts))


def _content(path: Path) -> str:
    try:
        data = path.read_bytes() if path.stat().st_size <= FILE_BYTES_LIMIT else b""
        return "" if b"\0" in data else _OUTPUT.sub("", data.decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return ""
