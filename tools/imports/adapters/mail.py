"""Mail: mbox files and Maildir folders."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import EmailPolicy
from html import unescape
from typing import Any

from stores.records import JsonObject
from tools.imports.adapters.base import Format, Sniffed, labels, moment
from tools.imports.files import SourceFile, SourceFiles, decoded, lines
from tools.imports.records import ImportedRecord, Item, Origin, SkippedRecord

MAIL_BYTES = 32 * 2**20
"""Of a longer message the rest is left out: attachments."""
HEADER_LENGTH, PARAMETERS_LENGTH = 10_000, 2_000
REPLIES = 200_000
"""Replies whose thread is remembered."""
_FROM = re.compile(rb"From \S.*\d\d:\d\d")
_QUOTED_FROM = re.compile(rb">+From ")
_ID = re.compile(r"<[^<>\s]+>")
_TAG = re.compile(r"(<[^<>]*>)")
_UNSHOWN, _BREAKS = (
    ("script", "style", "head", "title"),
    ("br", "p", "div", "tr", "li", "h1", "h2", "h3", "h4", "table"),
)
# The parser of headers fails in many ways on what nobody would write.
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError)


class _Policy(EmailPolicy):
    """Bounds headers, whose parser takes quadratic time, and decodes those that are not encoded."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        most = PARAMETERS_LENGTH if name.lower().startswith("content-") else HEADER_LENGTH
        return name, decoded(value[:most].encode("utf-8", "surrogateescape"))


class _Threads:
    """Roots of replies without `References`, which follow the message that they answer."""

    def __init__(self) -> None:
        self._roots: dict[str, str] = {}

    def root(self, message: EmailMessage, own: str) -> str:
        references = _ids(message, "References") or _ids(message, "In-Reply-To")
        if not references:
            return own
        root = self._roots.get(references[0], references[0])
        if len(self._roots) >= REPLIES:
            del self._roots[next(iter(self._roots))]
        self._roots[own] = root
        return root


_POLICY = _Policy()


def _mbox(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    threads, folder = _Threads(), file.base.removesuffix(".mbox")
    for origin, raw in _messages(file):
        yield from _mail(raw, origin, threads, folder)


def _messages(file: SourceFile) -> Iterator[tuple[Origin, bytes]]:
    kept: list[bytes] = []
    size = first = begin = end = 0
    is_after_blank = True
    with file.open() as stream:
        for number, start, stop, data in lines(stream):
            if is_after_blank and data and _FROM.match(data):
                if first:
                    yield Origin(file.name, first, begin, end), b"\n".join(kept)
                kept, size, first, begin = [], 0, number, start
            elif first and data is not None and size < MAIL_BYTES:
                size += len(data) + 1
                kept.append(data[1:] if _QUOTED_FROM.match(data) else data)
            is_after_blank, end = data == b"", stop
    if first:
        yield Origin(file.name, first, begin, end), b"\n".join(kept)


def _maildir_folders(source: SourceFiles) -> Iterator[SourceFile]:
    folders: dict[str, list[SourceFile]] = {}
    for file in source:
        parent, _, kind = file.folder.rpartition("/")
        if kind in ("cur", "new"):
            folders.setdefault(parent, []).append(file)
    for name, members in folders.items():
        by_time = sorted(members, key=lambda file: file.base)
        yield SourceFile(name or ".", sum(file.size for file in members), members=tuple(by_time))


def _maildir(file: SourceFile, _options: Mapping[str, str]) -> Iterator[Item]:
    threads, folder = _Threads(), file.base.strip(".") or "INBOX"
    for member in file.members or (file,):
        try:
            with member.open() as stream:
                raw = stream.read(MAIL_BYTES)
        except OSError as error:
            yield SkippedRecord(Origin(member.name), f"It cannot be read: {error.strerror}.")
        else:
            yield from _mail(raw, Origin(member.name), threads, folder)


def _mail(raw: bytes, origin: Origin, threads: _Threads, folder: str) -> Iterator[Item]:
    try:
        message = message_from_bytes(raw, policy=_POLICY)
        text, attachments = _body(message)
    except _MALFORMED as error:
        yield SkippedRecord(origin, f"It is no readable message ({type(error).__name__}).")
        return
    subject = str(_header(message, "Subject"))
    if not message.keys() or not (text.strip() or subject):
        yield SkippedRecord(origin, "The message is empty.")
        return
    own = next(iter(_ids(message, "Message-ID")), "") or f"sha256:{hashlib.sha256(raw).hexdigest()}"
    people = [each for name in ("From", "To", "Cc") for each in _people(message, name)]
    marked = [each.strip() for each in str(_header(message, "X-Gmail-Labels")).split(",")]
    metadata: JsonObject = {
        "thread_id": threads.root(message, own), "captured_at": _date(message),
        "speaker": next((name or address for name, address in _people(message, "From")), None),
        "participants": [*labels(part for person in people for part in person)],
        "labels": [*(labels(marked) or labels([folder]))], "attachments": [*attachments],
    }  # fmt: skip
    yield ImportedRecord(own, subject, text if text.strip() else subject, origin, metadata=metadata)


def _header(message: EmailMessage, name: str) -> Any:
    try:
        return message[name] or ""
    except _MALFORMED:
        return ""


def _ids(message: EmailMessage, name: str) -> list[str]:
    return _ID.findall(str(_header(message, name)))


def _people(message: EmailMessage, name: str) -> list[tuple[str, str]]:
    addresses = getattr(_header(message, name), "addresses", ())
    return [(each.display_name, each.addr_spec if each.domain else each.username) for each in addresses]


def _date(message: EmailMessage) -> str | None:
    date = getattr(_header(message, "Date"), "datetime", None)
    return None if date is None else moment(date.isoformat())


def _body(message: EmailMessage) -> tuple[str, list[str]]:
    plain: list[str] = []
    html: list[str] = []
    attachments: list[str] = []
    for part in message.walk():
        if part.is_multipart():
            continue
        kind, name = part.get_content_type(), part.get_filename()
        if part.get_content_disposition() == "attachment" or name or not kind.startswith("text/"):
            attachments.append(name or kind)
        elif isinstance(payload := part.get_payload(decode=True), bytes):
            (html if kind == "text/html" else plain).append(decoded(payload, part.get_content_charset()))
    text = "\n\n".join(each for each in plain if each.strip())
    return text or "\n\n".join(map(_shown, html)).strip(), attachments


def _shown(html: str) -> str:
    """Return the text of HTML, in linear time."""
    found: list[str] = []
    hidden = ""
    for piece in _TAG.split(_without_comments(html)):
        if not piece.startswith("<") or not piece.endswith(">"):
            found += [] if hidden else [re.sub(r"\s+", " ", piece)]
            continue
        match = re.match(r"</?([a-z0-9]+)", piece.lower())
        name = match[1] if match else ""
        if name in _UNSHOWN:
            hidden = "" if piece[1] == "/" and name == hidden else hidden or ("" if piece[1] == "/" else name)
        elif name in _BREAKS and not hidden:
            found.append("\n")
    text = "\n".join(line.strip() for line in unescape("".join(found)).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _without_comments(html: str) -> str:
    first, *rest = html.split("<!--")
    return first + "".join(each.partition("-->")[2] for each in rest)


def _is_mbox(file: SourceFile) -> bool:
    with file.open() as stream:
        return _FROM.match(stream.readline(1_000)) is not None


FORMATS = (
    Format("mbox", "Mail in mbox files, such as Gmail's Takeout", Sniffed(_is_mbox), _mbox),
    Format("maildir", "Mail in Maildir folders", _maildir_folders, _maildir),
)
