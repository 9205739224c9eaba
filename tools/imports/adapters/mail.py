"""Mail: mbox files and Maildir folders."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32
from email.utils import getaddresses, parsedate_to_datetime
from html import unescape

from stores.records import JsonObject
from tools.imports.adapters.base import READ_ERRORS, Item, imported, place_in
from tools.imports.adapters.values import labels, moment
from tools.imports.files import SourceFile, SourceFiles, decoded, lines
from tools.imports.models import PlaceInSource, SkippedPart

MAIL_BYTES = 32 * 2**20
"""Longer messages are cut: attachments."""
HEADER_LENGTH, PARAMETERS_LENGTH = 10_000, 2_000
REPLIES = 200_000
"""Messages whose thread is remembered."""
_FROM = re.compile(rb"From \S.*\d\d:\d\d")
_QUOTED_FROM = re.compile(rb">+From ")
_ID = re.compile(r"<[^<>\s]+>")
_IN_MAILDIR = re.compile(r"(?:(.*)/)?(?:cur|new)/\d{6,}[._][^/]+")
_TOKEN = re.compile(r"(<!--|-->|<[^<>]*>)")
_TAG = re.compile(r"<!--|-->|</?[a-z][a-z0-9]*")
_UNSHOWN = {"<!--": "-->", "<script": "</script", "<style": "</style", "<head": "</head"}
_BREAKS = ("br", "p", "div", "tr", "li", "h1", "h2", "h3", "h4", "table")


class _Policy(Compat32):  # Newer policies parse each header into an object: a third of the speed.
    """Bounds headers, whose parser takes quadratic time, and decodes those that are not encoded."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        most = PARAMETERS_LENGTH if name.lower().startswith("content-") else HEADER_LENGTH
        return name, decoded(value[:most].encode("utf-8", "surrogateescape"))


_POLICY = _Policy()


def mbox(file: SourceFile) -> Iterator[Item]:
    threads: dict[str, str] = {}
    for origin, raw in _messages(file):
        yield _mail(raw, origin, threads, file.base.removesuffix(".mbox"))


def _messages(file: SourceFile) -> Iterator[tuple[PlaceInSource, bytes]]:
    kept: list[bytes] = []
    size = first = begin = end = 0
    is_after_blank = True
    with file.open() as stream:
        for number, start, stop, data in lines(stream):
            if is_after_blank and data and _FROM.match(data):
                if first:
                    yield place_in(file, first, begin, end), b"\n".join(kept)
                kept, size, first, begin = [], 0, number, start
            elif first and data is not None and size < MAIL_BYTES:
                size += len(data) + 1
                kept.append(data[1:] if _QUOTED_FROM.match(data) else data)
            is_after_blank, end = data == b"", stop
    if first:
        yield place_in(file, first, begin, end), b"\n".join(kept)


def maildir_folders(source: SourceFiles) -> Iterator[SourceFile]:
    folders: dict[str, list[SourceFile]] = {}
    for file in source:
        if found := _IN_MAILDIR.fullmatch(file.name):
            folders.setdefault(found[1] or ".", []).append(file)
    for name, members in folders.items():
        yield SourceFile(name, sum(file.size for file in members), members=tuple(members))


def maildir(file: SourceFile) -> Iterator[Item]:
    threads: dict[str, str] = {}
    for member in file.members or (file,):
        try:
            with member.open() as stream:
                raw = stream.read(MAIL_BYTES)
        except READ_ERRORS as error:
            yield SkippedPart(origin=place_in(member), reason=f"It cannot be read ({type(error).__name__}).")
        else:
            yield _mail(raw, place_in(member), threads, file.base.strip(".") or "INBOX")


def _mail(raw: bytes, origin: PlaceInSource, threads: dict[str, str], folder: str) -> Item:
    try:
        message = message_from_bytes(raw, policy=_POLICY)
        text, attachments = _body(message)
    except READ_ERRORS as error:
        return SkippedPart(origin=origin, reason=f"It is no readable message ({type(error).__name__}).")
    subject = _header(message, "Subject")
    if not message.keys() or not (text.strip() or subject):
        return SkippedPart(origin=origin, reason="The message is empty.")
    own = next(iter(_ids(message, "Message-ID")), "") or f"sha256:{hashlib.sha256(raw).hexdigest()}"
    references = _ids(message, "References") or _ids(message, "In-Reply-To") or [own]
    if len(threads) >= REPLIES:
        threads.clear()
    threads[own] = threads.get(references[0], references[0])
    people = [each for name in ("From", "To", "Cc") for each in _people(message, name)]
    marked = labels(each.strip() for each in _header(message, "X-Gmail-Labels").split(","))
    metadata: JsonObject = {
        "thread_id": threads[own], "captured_at": _date(message),
        "speaker": next((name or address for name, address in _people(message, "From")), None),
        "participants": [*labels(part for person in people for part in person)],
        "labels": [*(marked or labels([folder]))], "attachments": [*attachments],
    }  # fmt: skip
    return imported(own, subject, text if text.strip() else subject, origin, metadata=metadata)


def _header(message: Message, name: str) -> str:
    return _words(" ".join(str(message.get(name, "")).split()))


def _words(text: str) -> str:
    with suppress(*READ_ERRORS):
        return str(make_header(decode_header(text))) if "=?" in text else text
    return text


def _ids(message: Message, name: str) -> list[str]:
    return _ID.findall(_header(message, name))


def _people(message: Message, name: str) -> list[tuple[str, str]]:
    with suppress(*READ_ERRORS):
        return [(_words(shown), address) for shown, address in getaddresses([str(message.get(name, ""))])]
    return []


def _date(message: Message) -> str | None:
    with suppress(*READ_ERRORS):
        return moment(parsedate_to_datetime(str(message.get("Date", ""))).isoformat())
    return None


def _body(message: Message) -> tuple[str, list[str]]:
    found: dict[str, list[str]] = {"text/plain": [], "text/html": []}
    attachments: list[str] = []
    for part in message.walk():
        if part.is_multipart():
            continue
        kind, name = part.get_content_type(), part.get_filename()
        if part.get_content_disposition() == "attachment" or name or not kind.startswith("text/"):
            attachments.append(_words(name or kind))
        elif isinstance(payload := part.get_payload(decode=True), bytes):
            found.setdefault(kind, []).append(decoded(payload, part.get_content_charset()))
    html = found.pop("text/html")
    text = "\n\n".join(each for texts in found.values() for each in texts if each.strip())
    return text or "\n\n".join(map(_shown, html)).strip(), attachments


def _shown(html: str) -> str:
    found: list[str] = []
    end = ""
    for piece in _TOKEN.split(html):
        tag = _TAG.match(piece.lower())
        if end:
            end = "" if tag and tag[0] == end else end
        elif tag:
            end = _UNSHOWN.get(tag[0], "")
            found += ["\n"] if tag[0].strip("</") in _BREAKS else []
        else:
            found.append(re.sub(r"\s+", " ", piece))
    text = "\n".join(line.strip() for line in unescape("".join(found)).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()
