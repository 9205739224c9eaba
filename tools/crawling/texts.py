"""Text of files and pages; hostile ones are read in a process of their own, bounded in time and memory."""

import codecs
import io
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from tools.crawling.markup import Markup
from tools.entities.chunking import title_of
from tools.imports.files import decoded

TEXT_LIMIT = 1_000_000
"""Characters of one document."""
PDF_PAGES = 1_000
KINDS = {
    **dict.fromkeys(("text/html", "application/xhtml+xml"), "html"),
    **dict.fromkeys(("text/markdown", "text/x-markdown", "text/x-rst", "text/plain"), "text"),
    "application/pdf": "pdf",
}
SUFFIXES = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".md", ".markdown", ".rst", ".txt"), "text"),
    ".pdf": "pdf",
}
MEMORY_LIMIT, PROCESSOR_S = 1 << 30, 30
"""Bytes and seconds of a process that reads one page."""
PATIENCE_S = 60.0
_COMMAND = "from tools.crawling.texts import main; main()"
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


class Unreadable(Exception):
    """Page that cannot be read; the message completes the sentence "It …"."""


class PageText(NamedTuple):
    title: str
    text: str
    """Markdown, at most `TEXT_LIMIT` characters."""
    links: list[str]
    """As the page writes them, relative to `base`, or else to its address."""
    base: str


def kind_of(name: str, content_type: str) -> str | None:
    """Return `html`, `pdf` or `text` by the media type, or else by the suffix of a path or URL; None for no text."""
    media = content_type.partition(";")[0].strip().lower()
    by_name = SUFFIXES.get(PurePosixPath(urlsplit(name).path if "://" in name else name).suffix.lower())
    return by_name if media in ("", "application/octet-stream") else KINDS.get(media)


def to_text(name: str, content_type: str, data: bytes) -> PageText:
    """Return the title and text of a page; `name` is its path or URL.

    Raises:
        Unreadable: It is no text, damaged, encrypted, or without text and links.
    """
    kind = kind_of(name, content_type)
    if kind is None:
        raise Unreadable(f"is of the type {content_type.partition(';')[0] or 'unknown'}, which is not read")
    found = _from_pdf(data) if kind == "pdf" else _from_text(kind, content_type, data)
    text = found.text.replace("\0", "").strip()[:TEXT_LIMIT]
    if not text and not found.links:
        raise Unreadable("holds no text")
    title = " ".join((title_of(text) or found.title).split())[:200]
    return found._replace(title=title.replace("\0", ""), text=text)


def _from_text(kind: str, content_type: str, data: bytes) -> PageText:
    text = _decoded(content_type, data, kind)
    if kind == "text":
        return PageText("", text, [], "")
    page = Markup()
    page.feed(text)
    page.close()
    return PageText(page.title, page.text, [*page.links], page.base)


def _decoded(content_type: str, data: bytes, kind: str) -> str:
    is_marked = data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not is_marked and b"\0" in data[:4096]:
        raise Unreadable("is no text")
    stated = [_CHARSET.search(content_type), _CHARSET.search(data[:2048].decode("latin-1")) if kind == "html" else None]
    return decoded(data, *(found[1] for found in stated if found and not is_marked))


def _from_pdf(data: bytes) -> PageText:
    from pypdf import PdfReader  # noqa: PLC0415 - only for PDF

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("is encrypted")
        title = str((reader.metadata and reader.metadata.title) or "")
        parts, room = list[str](), TEXT_LIMIT
        for number, page in enumerate(reader.pages, start=1):
            if number > PDF_PAGES or room <= 0:
                break
            if said := page.extract_text().strip():
                parts.append(f"## Page {number}\n\n{said}")
                room -= len(said)
    except Unreadable:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file fails in any way
        raise Unreadable(f"is a damaged PDF ({type(error).__name__})") from None
    head = [f"# {' '.join(title.split())}"] if title.strip() and parts else []
    return PageText(title, "\n\n".join([*head, *parts]), [], "")


async def read_apart(name: str, content_type: str, data: bytes) -> PageText:
    """Return the title and text of a page, as `to_text` does; HTML and PDF are read in a process of their own.

    Raises:
        Unreadable: As `to_text`, or it takes too much time or memory.
    """
    import anyio.to_thread  # noqa: PLC0415 - the other process does not need it

    if kind_of(name, content_type) not in ("html", "pdf"):
        return await anyio.to_thread.run_sync(to_text, name, content_type, data)
    # Without the secrets of this process. -P: the working directory must not shadow our modules.
    kept = {each: os.environ[each] for each in ("PATH", "SYSTEMROOT") if each in os.environ}
    environ = kept | {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each), "PYTHONUTF8": "1"}
    command = [sys.executable, "-P", "-c", _COMMAND, name, content_type]
    try:
        with anyio.fail_after(PATIENCE_S):
            done = await anyio.run_process(command, input=data, env=environ, check=False, stderr=subprocess.DEVNULL)
        found = json.loads(done.stdout)
    except TimeoutError:
        raise Unreadable("takes too long to read") from None
    except ValueError:
        raise Unreadable("takes too much time or memory to read") from None
    if "wrong" in found:
        raise Unreadable(found["wrong"])
    return PageText(**found)


def main() -> None:
    """Read a page from standard input; write its title and text, or the error, as JSON."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    name, content_type = sys.argv[1:3]
    try:
        found: dict[str, object] = to_text(name, content_type, sys.stdin.buffer.read())._asdict()
    except Unreadable as error:
        found = {"wrong": str(error)}
    except (MemoryError, RecursionError):
        found = {"wrong": "takes too much memory to read"}
    sys.stdout.write(json.dumps(found))
