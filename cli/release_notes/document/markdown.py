"""Render the document as Markdown. Untrusted text passes `inert`."""

import re
from collections.abc import Iterator

from cli.release_notes.document.links import Web
from cli.release_notes.document.model import Block, Code, Document, Heading, Note, Section, Statement, Table
from cli.release_notes.document.presets import Preset
from cli.release_notes.document.wording import capitalised, day, sentence
from tools.text.inline import code, inert
from tools.text.plain import one_line, plain

DETAILS = 8
DETAIL_CHARACTERS = 1_200
_BULLET = re.compile(r"[-*+•]\s+|\d{1,3}[.)]\s+")
_FENCE = re.compile(r"\s*(?:```+|~~~+)")
_WIDE = re.compile(r"-{3,}|={3,}|_{3,}|\*{3,}")


def render(document: Document, preset: Preset) -> str:
    lines = [f"# {inert(document.title)}", "", f"**Release date:** {day(document.released_at)}", ""]
    for section in document.sections:
        lines += [f"{'#' * section.level} {section.heading}", ""]
        lines += _body(section, document.web, preset)
    return "\n".join(lines).rstrip("\n") + "\n"


def cite(statement: Statement, web: Web, cited: int) -> str:
    number = [web.pull_request(statement.pull_request)] if statement.pull_request and cited > 1 else []
    where = f"; {', '.join(map(code, statement.areas))}" if statement.areas else ""
    return f"({', '.join([*number, _named(statement.commits, web, cited)])}{where})"


def _named(commits: tuple[str, ...], web: Web, cited: int) -> str:
    more = len(commits) - cited
    return ", ".join(web.commit(sha) for sha in commits[:cited]) + (f" and {more:,} more" if more > 0 else "")


def _body(section: Section, web: Web, preset: Preset) -> Iterator[str]:
    blocks = section.blocks or ((Note(section.empty),) if section.empty else ())
    was_item = False
    for block in blocks:
        is_item = isinstance(block, Statement) and section.name != "overview"
        if was_item and not is_item:
            yield ""
        lines = list(_written(block, web, preset, is_item=is_item))
        yield from lines
        # An item of several paragraphs stands apart from the next one.
        was_item = is_item and len(lines) == 1
        if not was_item:
            yield ""
    if was_item:
        yield ""


def _written(block: Block, web: Web, preset: Preset, *, is_item: bool) -> Iterator[str]:
    match block:
        case Statement():
            yield from _item(block, web, preset) if is_item else [_paragraph(block, web, preset)]
        case Note():
            yield block.markdown
        case Heading():
            yield f"#### {inert(block.text)}"
        case Code():
            yield from _fenced(block.text.split("\n"), block.language)
        case Table():
            header, rows = block.header, block.rows
            if block.commits:
                header = (*header, "Commits")
                named = (_named(commits, web, preset.cited) for commits in block.commits)
                rows = tuple((*row, commits) for row, commits in zip(rows, named, strict=True))
            yield f"| {' | '.join(header)} |"
            yield f"|{'|'.join(' --- ' for _ in header)}|"
            yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _item(statement: Statement, web: Web, preset: Preset) -> Iterator[str]:
    text = inert(statement.text)
    lead = f"**{inert(statement.lead)}:** " if statement.lead else ""
    citation = cite(statement, web, preset.cited)
    details = list(_as_much_as_fits(_details(statement.details)))
    if statement.stands_out:
        text = f"**{sentence(text)}**" if details else f"**{text}**"
        # A single paragraph goes on in the line of its title.
        if len(details) == 1 and not details[0].startswith(("- ", "```")):
            text, details = f"{text} {sentence(capitalised(details[0]))}", []
    yield f"- {lead}{text} {citation}"
    yield from (f"  {line}".rstrip() for line in _apart(details))


def _paragraph(statement: Statement, web: Web, preset: Preset) -> str:
    return f"{sentence(inert(statement.text))} {cite(statement, web, preset.cited)}"


def _apart(details: list[str]) -> Iterator[str]:
    before = ""
    for line in details:
        both_items = before.startswith("- ") and line.startswith("- ")
        if not both_items:
            yield ""
        yield from line.split("\n")
        before = line


def _as_much_as_fits(blocks: Iterator[str]) -> Iterator[str]:
    left = DETAIL_CHARACTERS
    for number, block in enumerate(blocks):
        if number and (number == DETAILS or len(block) > left):
            yield "…"
            return
        left -= len(block)
        yield block


def _details(text: str) -> Iterator[str]:
    lines = plain(text).strip("\n").split("\n")
    paragraph: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if found := _code_at(lines, at, starts_fresh=not paragraph):
            yield from _flushed(paragraph)
            at, block = found
            yield "\n".join(_fenced(block, ""))
            continue
        bullet = _BULLET.match(line.strip())
        if not line.strip() or bullet or _WIDE.fullmatch(line.strip()):
            yield from _flushed(paragraph)
        if bullet:
            paragraph.append(f"- {line.strip()[bullet.end() :]}")
        elif line.strip() and not _WIDE.fullmatch(line.strip()):
            paragraph.append(line.strip())
        at += 1
    yield from _flushed(paragraph)


def _flushed(paragraph: list[str]) -> Iterator[str]:
    text = " ".join(paragraph)
    paragraph.clear()
    if text.startswith("- "):
        yield f"- {inert(text[2:])}"
    elif text:
        yield inert(text)


def _code_at(lines: list[str], at: int, *, starts_fresh: bool) -> tuple[int, list[str]] | None:
    if _FENCE.match(lines[at]):
        end = next((n for n in range(at + 1, len(lines)) if _FENCE.fullmatch(lines[n].rstrip())), len(lines))
        return end + 1, [line.rstrip() for line in lines[at + 1 : end]] or [""]
    if starts_fresh and lines[at].startswith("    "):
        end = next((n for n in range(at, len(lines)) if not lines[n].startswith("    ")), len(lines))
        return end, [line[4:].rstrip() for line in lines[at:end]]
    return None


def _fenced(lines: list[str], language: str) -> list[str]:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def _cell(markdown: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", one_line(markdown))
