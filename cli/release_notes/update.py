"""`--update`: each entry stands between two comments, which alone are replaced; no other byte of the file changes."""

import hashlib
import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

from cli.release_notes.facts import ReleaseNotesFailed

_FRONT = re.compile(r"\ufeff?(?:---[ \t]*\n[A-Za-z_][\w-]*[ \t]*:.*?\n---[ \t]*(?:\n|\Z))?", re.S)
_HEADING = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$|^#", re.M | re.S)
_ENTRY = re.compile(
    r"^<!-- begin release notes (?P<version>\S+) (?P<digest>[0-9a-f]{16}) -->\n(?P<body>.*?)"
    r"(?:^<!-- end release notes (?P=version) -->(?:\n|\Z)|(?P<open>(?=^<!-- begin release notes )|\Z))",
    re.M | re.S,
)


def update(path: Path, entry: str, version: str) -> str:
    """Write an entry into a file, new or not; return a word about it.

    Raises:
        ReleaseNotesFailed: The file cannot be read or written, or holds what would be lost; it is unchanged.
    """
    try:
        old = _read(path)
        data, done = merged(old or b"", entry, version, str(path))
        if data != old:
            _replace(path, data, old)
    except OSError as error:
        raise ReleaseNotesFailed(f"{path} cannot be written: {error.strerror or error}.") from None
    return "created" if old is None else "unchanged" if data == old else done


def merged(old: bytes, entry: str, version: str, name: str) -> tuple[bytes, str]:
    """Replace the entry of a version between its comments, or insert it: first, or below the heading of a changelog.

    Raises:
        ReleaseNotesFailed: Somebody changed the entry, or wrote one of this version outside of the comments.
    """
    raw = old.decode("utf-8", "surrogateescape")
    ending = "\r\n" if raw.count("\r\n") * 2 > raw.count("\n") else "\n"
    text = raw.replace("\r\n", "\n") if ending == "\r\n" else raw
    if ending == "\r\n" and raw != text.replace("\n", "\r\n"):
        text, ending = raw, "\n"  # mixed: what others wrote stays as it is
    key = re.sub(r"[^\w.+@/-]+|--+", "-", version) or "-"
    place, is_changelog, titles = _place(text)
    body = _HEADING.sub(lambda found: found[0] if found[1] else "##", entry) if is_changelog else entry
    digest = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:16]
    block = f"<!-- begin release notes {key} {digest} -->\n{body}<!-- end release notes {key} -->\n"
    found = next((match for match in _ENTRY.finditer(text) if _same(match["version"], key)), None)
    if found is not None:
        if (
            found["open"] is not None
            or hashlib.sha256(found["body"].encode("utf-8", "replace")).hexdigest()[:16] != found["digest"]
        ):
            raise ReleaseNotesFailed(
                f"{name}: somebody changed the entry of {version}. Move that text outside of its two comments, or"
                f" delete the"
                " comments to keep the entry as it is; nothing was written."
            )
        new, done = text[: found.start()] + block + text[found.end() :], "replaced"
    else:
        if own := next((title for title in titles if _names(title, version)), None):
            raise ReleaseNotesFailed(
                f"{name} has an entry {own!r} that this command did not write: delete it, or give the notes another"
                " --version-name; nothing was written."
            )
        head, rest = text[:place], text[place:]
        above = (
            ""
            if not head.strip("\ufeff") or not is_changelog
            else "\n" * (2 - min(2, len(head) - len(head.rstrip("\n"))))
        )
        below = "" if not rest.strip() else "\n" if is_changelog else "\n---\n\n"
        new, done = head + above + block + below + rest, "added"
    return (new.replace("\n", ending) if ending == "\r\n" else new).encode("utf-8", "surrogateescape"), done


def _place(text: str) -> tuple[int, bool, list[str]]:
    front = _FRONT.match(text)
    first = front.end() if front else 0
    shown = _ENTRY.sub(lambda match: "\n" * match[0].count("\n"), text)[first:]
    plain = shown.encode("utf-8", "replace").decode().replace("\r", " ").replace("\0", " ")
    tokens = MarkdownIt("commonmark").parse(plain)
    heads = [(each.tag, below.content, each.map[0]) for each, below in pairwise(tokens)
             if each.type == "heading_open" and each.map and not each.level]  # fmt: skip
    titles = [title for _, title, _ in heads]
    if not heads or heads[0][0] != "h1" or re.search(r"\d+\.\d|^\W*v?\d+\W*$", titles[0]):
        return first, False, titles
    # A title without a version, with versions below: the entry goes below it, and below what is unreleased.
    lines = text[first:].split("\n")
    below = [line for tag, title, line in heads[1:] if tag == "h2" and "unreleased" not in title.casefold()]
    below += [n for n, line in enumerate(lines) if line.startswith("<!-- begin release notes ")]
    below += [n for n, line in enumerate(lines) if re.match(r"\[[^\]]+\]: ", line) and n > heads[-1][2]]
    return first + (sum(len(line) + 1 for line in lines[: min(below)]) if below else len(text) - first), True, titles


def _same(one: str, other: str) -> bool:
    return one.casefold().removeprefix("v") == other.casefold().removeprefix("v")


def _names(title: str, version: str) -> bool:
    words = title.replace("\\", "").replace("`", "").split()
    return len(words) <= 6 and any(_same(word.strip("[]():,"), version) for word in words[:3])


def _read(path: Path) -> bytes | None:
    if path == Path():
        raise ReleaseNotesFailed("--file needs the name of a file.")
    if not path.parent.is_dir():
        raise ReleaseNotesFailed(f"{path} cannot be written: there is no folder {path.parent}.")
    if not os.path.lexists(path):
        return None
    mode = path.lstat().st_mode
    # Replacing needs no right to write into the file, so who took it away would not be heard; nor is root.
    is_locked = not mode & 0o222 or not os.access(path, os.W_OK)
    what = (
        "a symbolic link: name the file that it leads to"
        if stat.S_ISLNK(mode)
        else "a folder"
        if stat.S_ISDIR(mode)
        else ""
    )
    what = what or ("no ordinary file" if not stat.S_ISREG(mode) else "read-only" if is_locked else "")
    data = path.read_bytes() if not what else b""
    if what or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ReleaseNotesFailed(f"{path} is {what or 'UTF-16, and notes are written as UTF-8: convert it first'}.")
    return data


def _replace(path: Path, data: bytes, old: bytes | None) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if old is None:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
        else:
            with suppress(OSError):
                shutil.chown(name, path.stat().st_uid, path.stat().st_gid)
            shutil.copymode(path, name)
        if (path.read_bytes() if os.path.lexists(path) else None) != old:
            raise ReleaseNotesFailed(f"{path} was changed by somebody else meanwhile: nothing was written.")
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
