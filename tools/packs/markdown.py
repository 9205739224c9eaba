"""Write a context pack as Markdown within a token budget.

Texts are quoted and names are one line, so no record can pass for a heading or another item.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tools.packs.context_models import AlsoKnown, RelatedItem
from tools.packs.excerpts import excerpt
from tools.text.plain import one_line

CHARACTERS_PER_TOKEN = 4
CONTENT_SHARE = 0.85
CONTENT_LIMIT = 1200
SHORTEST = 160
"""Characters; the last item is dropped rather than cut shorter."""
GOAL_LIMIT = 200
NAME_LIMIT = 60
FREE_ITEMS, FREE_EACH, FREE_CONTENT = 8, 3, 280
"""Without a budget: items in all, per section, characters of each."""
QUOTE = "  > "
ROOMY = 400
"""Tokens from which more than one further record is named."""


@dataclass(frozen=True, slots=True)
class Entry:
    section: str
    id: str
    name: str
    marks: tuple[str, ...]
    content: str
    links: Sequence[RelatedItem] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Block:
    section: str
    head: str
    quoted: str
    is_cut: bool

    def text(self, limit: int) -> str:
        return f"{self.head}\n{_shown(self.quoted, limit)}" if self.quoted else self.head

    def length(self, limit: int) -> int:
        return len(self.head) + 1 + (min(len(self.quoted), limit) + 1 if self.quoted else 0)


def render(
    goal: str,
    entries: Sequence[Entry],
    sections: Sequence[str],
    *,
    budget: int | None,
    hint: str,
    closing: Sequence[str] = (),
) -> str:
    """Write the items under the titles of their sections; the last line names cuts, or is the hint.

    A budget (tokens of four characters) shortens long texts, then drops items; one always stays.
    """
    title, before = _title(goal, budget), [*closing]
    if not entries:
        return "\n\n".join([title, *before, hint]) + "\n"
    if budget is None:
        kept, limit = _few(entries), FREE_CONTENT
        blocks = [_block(entry) for entry in kept]
    else:
        blocks = [_block(entry) for entry in entries]
        blocks, limit = _fitted(blocks, budget, len("\n\n".join([title, *before])), hint)
    left_out = len(entries) - len(blocks)
    by_budget = bool(left_out) or any(len(block.quoted) > limit for block in blocks)
    shortened = sum(block.is_cut or len(block.quoted) > limit for block in blocks)
    last = trimmed(left_out, shortened, by_budget=by_budget) if left_out or shortened else hint
    parts = [
        "\n".join([f"## {section}", *texts])
        for section in sections
        if (texts := [block.text(limit) for block in blocks if block.section == section])
    ]
    return "\n\n".join([title, *parts, *before, last]) + "\n"


def also_known_text(known: Sequence[AlsoKnown], budget: int | None) -> list[str]:
    """Name records beyond the sections; a small budget has room for one."""
    shown = known if budget is None or budget >= ROOMY else known[:1]
    lines = [f"- `{each.id}` {one_line(each.name, NAME_LIMIT)} ({each.type}, {each.score:.2f})" for each in shown]
    return ["\n".join(["## Also Known", *lines])] if lines else []


def trimmed(missing: int, shortened: int, *, by_budget: bool = True) -> str:
    said = [f"{missing} left out"] if missing else []
    said += [f"{shortened} shortened"] if shortened else []
    way_out = "Read one whole by its id" + (", or ask for a larger markdown_token_budget." if by_budget else ".")
    return f"Trimmed: {' and '.join(said)}. {way_out}"


def _fitted(blocks: list[_Block], budget: int, title: int, hint: str) -> tuple[list[_Block], int]:
    allowed = budget * CHARACTERS_PER_TOKEN
    last = max(len(hint), len(trimmed(len(blocks), len(blocks))))
    for count in range(len(blocks), 0, -1):
        kept = blocks[:count]
        headings = sum(len(f"\n\n## {section}\n") for section in {block.section for block in kept})
        room = min(int(allowed * CONTENT_SHARE), allowed - title - headings - last - 3)
        limit = _common_limit(kept, room)
        if limit >= min(SHORTEST, max(len(block.quoted) for block in kept)):
            return kept, limit
    return blocks[:1], SHORTEST


def _common_limit(blocks: Sequence[_Block], room: int) -> int:
    left = room - sum(block.length(0) for block in blocks)
    lengths = sorted(len(block.quoted) for block in blocks)
    for place, length in enumerate(lengths):
        share = left // (len(lengths) - place)
        if length > share:
            return share
        left -= length
    return lengths[-1]


def _few(entries: Sequence[Entry]) -> list[Entry]:
    kept: list[Entry] = []
    for entry in entries:
        if len(kept) < FREE_ITEMS and sum(each.section == entry.section for each in kept) < FREE_EACH:
            kept.append(entry)
    return kept


def _title(goal: str, budget: int | None) -> str:
    # A small budget has no room for a long goal.
    limit = GOAL_LIMIT if budget is None else min(GOAL_LIMIT, max(40, budget // 4))
    return f"# Context: {one_line(goal, limit)}"


def _block(entry: Entry) -> _Block:
    marks = f" ({', '.join(one_line(mark, NAME_LIMIT) for mark in entry.marks)})" if entry.marks else ""
    head = f"- `{entry.id}` {one_line(entry.name, GOAL_LIMIT)}{marks}"
    if entry.links:
        head += "\n  Related: " + "; ".join(map(_link, entry.links))
    content = excerpt(entry.content, CONTENT_LIMIT)
    lines = [line.strip("\r") for line in content.splitlines()]
    kept = (line for place, line in enumerate(lines) if line.strip() or (place and lines[place - 1].strip()))
    quoted = "\n".join(f"{QUOTE}{line}".rstrip() for line in kept)
    return _Block(entry.section, head, quoted, entry.is_cut or content != entry.content.strip())


def _link(link: RelatedItem) -> str:
    arrow = "→" if link.direction == "outgoing" else "←"
    return f"{link.relationship} {arrow} `{link.id}` {one_line(link.name, NAME_LIMIT)}"


def _shown(quoted: str, limit: int) -> str:
    cut = excerpt(quoted[len(QUOTE) :], max(limit - len(QUOTE), 2))
    return QUOTE + cut
