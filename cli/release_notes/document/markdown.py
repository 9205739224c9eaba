"""Render the document as Markdown. Untrusted text passes `inert`."""

import re
from collections.abc import Iterator

from cli.release_notes.document.model import Block, Code, Document, Note, Section, Statement, capitalised, sentence
from cli.release_notes.document.presets import Preset
from cli.release_notes.web import Web
from tools.text.inline import inert
from tools.text.plain import plain

MOST_DETAILS, MOST_CHARACTERS, MOST_ISSUES = 8, 1_200, 6
_BULLET = re.compile(r"[-*+•]\s+|\d{1,3}[.)]\s+")
_FENCE = re.compile(r"\s*(?:```+|~~~+)")
_WIDE = re.compile(r"-{3,}|={3,}|_{3,}|\*{3,}")


def render(document: Document, preset: Preset) -> str:
    lines = [f"# {inert(document.title)}", "", f"**Release date:** {document.released_at.date().isoformat()}", ""]
    for section in document.sections:
        lines += [f"{'#' * section.level} {section.heading}", "", *_body(section, document.web, preset)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _body(section: Section, web: Web, preset: Preset) -> Iterator[str]:
    was_item = False
    for block in section.blocks or ((Note(section.empty),) if section.empty else ()):
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
    if isinstance(block, Note):
        yield block.markdown
    elif isinstance(block, Code):
        yield from _fenced(block.text.split("\n"), block.language)
    elif is_item:
        yield from _item(block, web, preset)
    else:
        yield f"{sentence(inert(block.text))} {_cite(block, web, preset.cited)}"


def _item(statement: Statement, web: Web, preset: Preset) -> Iterator[str]:
    text = inert(statement.text)
    lead = f"**{inert(statement.lead)}:** " if statement.lead else ""
    details = _as_much_as_fits(list(_details(statement.details)))
    if statement.stands_out:
        text = f"**{sentence(text)}**" if details else f"**{text}**"
        # A single paragraph goes on in the line of its title.
        if len(details) == 1 and not details[0].startswith(("- ", "```")):
            text, details = f"{text} {sentence(capitalised(details[0]))}", []
    yield f"- {lead}{text} {_cite(statement, web, preset.cited)}"
    before = ""
    for block in details:
        if not (before.startswith("- ") and block.startswith("- ")):
            yield ""
        yield from (f"  {line}".rstrip() for line in block.split("\n"))
        before = block


def _cite(statement: Statement, web: Web, cited: int) -> str:
    pull = statement.pull_request if cited > 1 else None
    closes = [each for each in statement.issues if each != pull][:MOST_ISSUES] if cited > 1 else []
    # A pull request leads to its commits.
    commits = statement.commits[:1] if pull else statement.commits
    named = ", ".join(
        [*([web.pull_request(pull)] if pull else []), *map(web.issue, closes), *map(web.commit, commits[:cited])]
    )
    more = len(commits) - cited
    return f"({named} and {more:,} more)" if more > 0 else f"({named})"


def _as_much_as_fits(blocks: list[str]) -> list[str]:
    kept: list[str] = []
    for block in blocks[:MOST_DETAILS]:
        if kept and sum(map(len, kept)) + len(block) > MOST_CHARACTERS:
            break
        kept.append(block)
    return [*kept, "…"] if len(kept) < len(blocks) else kept


def _details(text: str) -> Iterator[str]:
    paragraph: list[str] = []
    fenced: list[str] | None = None
    for line in [*plain(text).strip("\n").split("\n"), ""]:
        is_fence, is_code = _FENCE.match(line) is not None, not paragraph and line.startswith("    ")
        if fenced is not None and not is_fence:
            fenced.append(line.rstrip())
            continue
        bullet = _BULLET.match(line.strip())
        if paragraph and (not line.strip() or bullet or is_fence or _WIDE.fullmatch(line.strip())):
            words = " ".join(paragraph)
            yield f"- {inert(words[2:])}" if words.startswith("- ") else inert(words)
            paragraph = []
        if is_fence:
            if fenced is not None:
                yield "\n".join(_fenced(fenced, ""))
            fenced = [] if fenced is None else None
        elif is_code:
            yield "\n".join(_fenced([line[4:].rstrip()], ""))
        elif bullet:
            paragraph = [f"- {line.strip()[bullet.end() :]}"]
        elif line.strip() and not _WIDE.fullmatch(line.strip()):
            paragraph.append(line.strip())
    if fenced:
        yield "\n".join(_fenced(fenced, ""))


def _fenced(lines: list[str], language: str) -> list[str]:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]
