"""Parse changelogs, Markdown or reStructuredText, into versions and their entries."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST = 200_000
"""Characters read of a file; the newest versions stand first."""
Version = tuple[tuple[int, ...], bool]
"""Numbers without trailing zeros, and whether it is final."""
_PARSER = MarkdownIt("commonmark")
_NUMBER = r"v?(?P<numbers>\d+(?:\.\d+){1,3})(?P<pre>[-.]?(?:a|b|c|rc|alpha|beta|dev|pre|next|canary)[-.\d]*)?(?![\w])"
_VERSION = re.compile(
    rf"^(?:[\w@/.-]+\s+){{0,3}}?[\[(]?(?:[\w@/-]+[@-])?{_NUMBER}|^\[?v?(?P<single>\d{{1,3}})\]?$", re.I
)
_UNRELEASED = re.compile(r"\bunreleased\b|^\W*(?:upcoming|next|main|master|development|in development)\b", re.I)
_OURS = re.compile(r"^<!-- begin release notes .*\n(?:(?!<!-- (?:begin|end) ).*\n)*<!-- end release notes .*", re.M)
_HEADED = re.compile(
    r"^(?P<over>([=\-~^\"'`*+#.])\2{2,} *\n)? ?(?P<title>[^\s.].*)\n(?P<under>([=\-~^\"'`*+#.])\5{2,}) *$", re.M
)
_HIDDEN = re.compile(r"^(?P<indent> *)(?:\.\. .*|\.\.|.*::) *\n(?:(?P=indent) +.*\n| *\n(?=\n*(?P=indent) ))*", re.M)
_ROLES = (
    (re.compile(r":(?:issue|pr|pull|gh|bug|ghissue|ghpull):`#?(\d+)`"), r"(#\1)"),
    (re.compile(r":pep:`(\d+)`"), r"PEP \1"),
    (re.compile(r":(?:ref|doc|term):`([^`<]+?)\s*<[^>]*>`|`([^`<]+?)\s*<[^>]*>`__?"), r"\1\2"),
    (re.compile(r" \(:ref:`[^`<]*`\)"), ""),
    (re.compile(r":[\w:+.-]+:`~?([^`<]*?)\s*(?:<[^>]*>)?`"), r"`\1`"),
    (re.compile(r"``(.+?)``"), r"`\1`"),
    (re.compile(r"\\ "), ""),
    (re.compile(r"^( *[-*]) {3}(?=\S)", re.M), r"\1   "),
)


class Block(NamedTuple):
    """A heading or list item with its level, or a paragraph; `more` is a further paragraph of an item."""

    kind: Literal["heading", "item", "more", "paragraph", "code"]
    level: int
    text: str


@dataclass(slots=True)
class Item:
    """An entry; `group` is the headings above it, below the version; `prose` is a paragraph outside of lists."""

    text: str
    group: str
    more: list[str] = field(default_factory=list)
    prose: bool = False


@dataclass(slots=True)
class Section:
    title: str
    version: Version | None
    unreleased: bool = False
    items: list[Item] = field(default_factory=list)


def version_of(text: str) -> Version | None:
    """Return the version at the beginning of a heading, or of a tag."""
    match = _VERSION.match(text.replace("`", "").strip())
    if match is None:
        return None
    numbers = [int(part[:9]) for part in (match["numbers"] or match["single"]).split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), not match["pre"]


def read_changelog(path: str, text: str) -> list[Section]:
    """Return the versions of a changelog in its order, without entries of `--update`; text above has no version."""
    whole = _OURS.sub("", text[:LONGEST])
    return list(_sections(markdown_blocks(_as_markdown(whole) if path.lower().endswith(".rst") else whole)))


def _sections(blocks: Iterable[Block]) -> Iterator[Section]:
    current = Section("", None)
    above: list[tuple[int, str]] = []
    top: int | None = None
    for block in blocks:
        if block.kind == "heading":
            version, unreleased = version_of(block.text), bool(_UNRELEASED.search(block.text))
            if (version or unreleased) and (top is None or block.level <= max(top, 2)):
                yield current
                top = block.level if top is None else min(top, block.level)
                current, above = Section(block.text, version, unreleased), []
            else:
                above = [*(each for each in above if each[0] < block.level), (block.level, block.text)]
        elif block.kind == "item":
            _add(current, above, block)
        elif block.kind == "more" and current.items:
            current.items[-1].more.append(block.text)
        elif block.kind == "paragraph":
            if re.fullmatch(r"\*\*[^*]+\*\*\W?", block.text):
                above = [*(each for each in above if each[0] < 20), (20, block.text)]
            else:
                _tell(current, above, block.text)
    yield current


def _add(section: Section, above: Sequence[tuple[int, str]], block: Block) -> None:
    last = section.items[-1] if section.items else None
    if last is not None and (block.level > 1 or (last.prose and above and last.text == above[-1][1])):
        last.more.append(f"- {block.text}")
    else:
        group = " / ".join(text.strip("*: ") for _, text in above)
        # Paragraphs above a list only lead to it.
        while section.items and section.items[-1].prose and section.items[-1].group == group:
            section.items.pop()
        section.items.append(Item(block.text, group))


def _tell(section: Section, above: list[tuple[int, str]], text: str) -> None:
    # Below a heading of its own a paragraph is an entry, titled by it; a second one goes on.
    group = " / ".join(title.strip("*: ") for _, title in above[:-1])
    if len(above) > 1:
        last = section.items[-1] if section.items else None
        if last is not None and (last.text, last.group) == (above[-1][1], group):
            last.more.append(text)
        else:
            section.items.append(Item(above[-1][1], group, [text], prose=True))
    elif above:
        section.items.append(Item(text, above[0][1].strip("*: "), prose=True))


def markdown_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of Markdown, without quotations and HTML."""
    depth = quoted = 0
    fresh = False
    for token, following in pairwise(_PARSER.parse(text)):
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open", "bullet_list_close", "ordered_list_close"):
            depth += token.nesting
        elif kind in ("blockquote_open", "blockquote_close"):
            quoted += token.nesting
        elif kind == "list_item_open":
            fresh = True
        elif kind in ("fence", "code_block"):
            yield Block("code", depth, token.content.rstrip("\n"))
        elif kind == "heading_open" and not depth:
            yield Block("heading", int(token.tag[1]), _spoken(following))
        elif kind == "paragraph_open" and not quoted:
            yield Block(("item" if fresh else "more") if depth else "paragraph", depth, _spoken(following))
            fresh = False


def _spoken(inline: Token) -> str:
    parts = []
    for child in inline.children or ():
        if child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "code_inline":
            parts.append(f"`{child.content}`")
        elif child.type in ("strong_open", "strong_close"):
            parts.append("**")
        elif child.type == "text" or (child.type == "html_inline" and not child.content.startswith("<!")):
            parts.append(child.content)
    return " ".join("".join(parts).split())


def _as_markdown(text: str) -> str:
    # What changelogs use of reStructuredText: headings, roles, links. Directives and literal blocks go.
    text = _HIDDEN.sub("", text.expandtabs(8))
    for pattern, plain in _ROLES:
        text = pattern.sub(plain, text)
    styles: list[str] = []

    def headed(match: re.Match[str]) -> str:
        style = f"{bool(match['over'])}{match['under'][0]}"
        styles.extend([style] if style not in styles else [])
        return f"{'#' * min(6, styles.index(style) + 1)} {match['title'].strip()}\n"

    return _HEADED.sub(headed, text)
