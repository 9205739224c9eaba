"""`--update`: each entry stands between two comments, which alone are replaced; no other byte of the file changes."""

import hashlib
import os
import re
import stat
from pathlib import Path

from cli.release_notes.facts import ReleaseNotesFailed
from stores.folder import replace_file

_FRONT = re.compile(r"\ufeff?(?:---[ \t]*\n[A-Za-z_][\w-]*[ \t]*:.*?\n---[ \t]*(?:\n|\Z))?", re.S)
_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^(?P=fence)|\Z)", re.M | re.S)
_HEADING = re.compile(r"^(?P<marks>#{1,2})[ \t]+(?P<title>.*)$|^(?P<under>\S.*)\n(?P<line>=+|-+)[ \t]*$", re.M)
_BELOW = re.compile(r"^(?:<!-- begin release notes |\[[^\]\n]+\]: )", re.M)
"""An earlier entry, or the definitions of links at the end."""
_ENTRY = re.compile(
    r"^<!-- begin release notes (?P<version>\S+) (?P<digest>[0-9a-f]{16}) -->\n(?P<body>.*?)"
    r"(?:^<!-- end release notes (?P=version) -->(?:\n|\Z)|(?P<open>(?=^<!-- begin release notes )|\Z))",
    re.M | re.S,
)


def update_file(path: Path, entry: str, version: str) -> str:
    try:
        old = _read(path)
        data, done = merged(old or b"", entry, version, str(path))
        if data != old:
            _replace(path, data, old)
    except OSError as error:
        raise ReleaseNotesFailed(f"{path} cannot be written: {error.strerror or error}.") from None
    return "created" if old is None else "unchanged" if data == old else done


def merged(old: bytes, entry: str, version: str, name: str) -> tuple[bytes, str]:
    """Replace the entry of a version between its comments, or insert it: first, or below the heading of a changelog."""
    raw = old.decode("utf-8", "surrogateescape")
    text = raw.replace("\r\n", "\n")
    # Of mixed endings, what others wrote stays as it is.
    text, ending = (text, "\r\n") if "\r\n" in raw and text.replace("\n", "\r\n") == raw else (raw, "\n")
    at, is_changelog, titles = _place(text)
    body = re.sub(r"(?ms)^(`{3,}).*?^\1|^#", lambda match: match[0] if match[1] else "##", entry)
    body = body if is_changelog else entry
    key = re.sub(r"[^\w.+@/-]+|--+", "-", version) or "-"
    block = f"<!-- begin release notes {key} {_digest(body)} -->\n{body}<!-- end release notes {key} -->\n"
    found = next((match for match in _ENTRY.finditer(text) if _same(match["version"], key)), None)
    if found is not None:
        if found["open"] is not None or _digest(found["body"]) != found["digest"]:
            raise ReleaseNotesFailed(
                f"{name}: somebody changed the entry of {version}. Move that text outside of its two comments, or"
                " delete the comments to keep the entry as it is; nothing was written."
            )
        new, done = text[: found.start()] + block + text[found.end() :], "replaced"
    else:
        if own := next((title for title in titles if _names(title, version)), None):
            raise ReleaseNotesFailed(
                f"{name} has an entry {own!r} that this command did not write: delete it, or give the notes another"
                " --version-name; nothing was written."
            )
        head, rest = text[:at], text[at:]
        above = "\n" * (2 - min(2, len(head) - len(head.rstrip("\n")))) if is_changelog else ""
        below = "" if not rest.strip() else "\n" if is_changelog else "\n---\n\n"
        new, done = head + above + block + below + rest, "added"
    return (new.replace("\n", ending) if ending != "\n" else new).encode("utf-8", "surrogateescape"), done


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _place(text: str) -> tuple[int, bool, list[str]]:
    front = _FRONT.match(text)
    first = front.end() if front else 0
    shown = text
    for hidden in (_ENTRY, _FENCE):
        shown = hidden.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), shown)
    heads = list(_HEADING.finditer(shown, first))
    titles = [head["title"] or head["under"] or "" for head in heads]
    levels = [2 if head["marks"] == "##" or (head["line"] or "").startswith("-") else 1 for head in heads]
    if not heads or levels[0] > 1 or re.search(r"\d+\.\d|^\W*v?\d+\W*$", titles[0]):
        return first, False, titles
    # A title without a version, with versions below: the entry goes below it and below an unreleased section.
    sections = list(zip(heads, titles, levels, strict=True))[1:]
    below = [head.start() for head, title, level in sections if level == 2 and "unreleased" not in title.casefold()]
    below += [match.start() for match in _BELOW.finditer(text, heads[-1].end() if not below else first)]
    return min(below, default=len(text)), True, titles


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
    problems = {
        "a symbolic link: name the file that it leads to": stat.S_ISLNK(mode),
        "a folder": stat.S_ISDIR(mode),
        "no ordinary file": not stat.S_ISREG(mode),
        # Replacing needs no right to write into the file, so who took it away would not be heard; nor is root.
        "read-only": not mode & 0o222 or not os.access(path, os.W_OK),
    }
    what = next((problem for problem, is_so in problems.items() if is_so), "")
    data = path.read_bytes() if not what else b""
    if what or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ReleaseNotesFailed(f"{path} is {what or 'UTF-16, and notes are written as UTF-8: convert it first'}.")
    return data


def _replace(path: Path, data: bytes, old: bytes | None) -> None:
    def check() -> None:
        if (path.read_bytes() if os.path.lexists(path) else None) != old:
            raise ReleaseNotesFailed(f"{path} was changed by another program meanwhile: nothing was written.")

    replace_file(path, data, 0o666, check)
