"""Write a context pack as Markdown within a token budget, with excerpts of long texts.

Texts are quoted and names are one line, so no record can pass for a heading or another item.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tools.packs.context_models import AlsoKnown, RelatedItem
from tools.text.plain import one_line
from tools.text.sentences import sentences

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
ELLIPSIS = " …"
BEFORE = "… "
LEAST_KEPT = 0.5
"""Least share filled by whole sentences; else the cut is after a word."""
LOOK_BACK = 300
_MARKS = ".!?…\u3002\uff01\uff1f"


@dataclass(frozen=True)
class Entry:
    section: str
    id: str
    name: str
    marks: tuple[str, ...]
    content: str
    links: Sequence[RelatedItem] = ()
    is_cut: bool = False

    @cached_property
    def head(self) -> str:
        marks = f" ({', '.join(one_line(mark, NAME_LIMIT) for mark in self.marks)})" if self.marks else ""
        head = f"- `{self.id}` {one_line(self.name, GOAL_LIMIT)}{marks}"
        return head + "\n  Related: " + "; ".join(map(_link, self.links)) if self.links else head

    @cached_property
    def quoted(self) -> str:
        lines = [line.strip("\r") for line in excerpt(self.content, CONTENT_LIMIT).splitlines()]
        kept = (line for place, line in enumerate(lines) if line.strip() or (place and lines[place - 1].strip()))
        return "\n".join(f"{QUOTE}{line}".rstrip() for line in kept)

    def is_shortened(self, limit: int) -> bool:
        return self.is_cut or len(self.content.strip()) > CONTENT_LIMIT or len(self.quoted) > limit

    def text(self, limit: int) -> str:
        if not self.quoted:
            return self.head
        return f"{self.head}\n{QUOTE}{excerpt(self.quoted[len(QUOTE) :], max(limit - len(QUOTE), 2))}"

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
    else:
        kept, limit = _fitted(entries, budget, len("\n\n".join([title, *before])), hint)
    left_out = len(entries) - len(kept)
    by_budget = bool(left_out) or any(len(entry.quoted) > limit for entry in kept)
    shortened = sum(entry.is_shortened(limit) for entry in kept)
    last = trimmed(left_out, shortened, by_budget=by_budget) if left_out or shortened else hint
    parts = [
        "\n".join([f"## {section}", *texts])
        for section in sections
        if (texts := [entry.text(limit) for entry in kept if entry.section == section])
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


def _fitted(entries: Sequence[Entry], budget: int, title: int, hint: str) -> tuple[Sequence[Entry], int]:
    allowed = budget * CHARACTERS_PER_TOKEN
    last = max(len(hint), len(trimmed(len(entries), len(entries))))
    for count in range(len(entries), 0, -1):
        kept = entries[:count]
        headings = sum(len(f"\n\n## {section}\n") for section in {entry.section for entry in kept})
        room = min(int(allowed * CONTENT_SHARE), allowed - title - headings - last - 3)
        limit = _common_limit(kept, room)
        if limit >= min(SHORTEST, max(len(entry.quoted) for entry in kept)):
            return kept, limit
    return entries[:1], SHORTEST


def _common_limit(entries: Sequence[Entry], room: int) -> int:
    left = room - sum(entry.length(0) for entry in entries)
    lengths = sorted(len(entry.quoted) for entry in entries)
    for place, length in enumerate(lengths):
        share = left // (len(lengths) - place)
        if length > share:
            return share
        left -= length
    return lengths[-1]


def _few(entries: Sequence[Entry]) -> Sequence[Entry]:
    kept: list[Entry] = []
    for entry in entries:
        if len(kept) < FREE_ITEMS and sum(each.section == entry.section for each in kept) < FREE_EACH:
            kept.append(entry)
    return kept


def _title(goal: str, budget: int | None) -> str:
    # A small budget has no room for a long goal.
    limit = GOAL_LIMIT if budget is None else min(GOAL_LIMIT, max(40, budget // 4))
    return f"# Context: {one_line(goal, limit)}"


def _link(link: RelatedItem) -> str:
    arrow = "→" if link.direction == "outgoing" else "←"
    return f"{link.relationship} {arrow} `{link.id}` {one_line(link.name, NAME_LIMIT)}"


def excerpt(text: str, limit: int) -> str:
    """Return the beginning of a text in at most `limit` characters (at least 2), cut at a sentence, line or word."""
    text = text.strip()
    if len(text) <= limit:
        return text
    room = limit - len(ELLIPSIS)
    least = int(LEAST_KEPT * room)
    end = max((least + end for end in _ends(text[least : room + 1]) if least + end <= room), default=0)
    if not end:
        blank = text[: room + 1].rstrip().rfind(" ")
        end = blank if blank >= least else room
    return text[:end].rstrip() + ELLIPSIS


def excerpt_around(text: str, start: int, limit: int) -> str:
    """Return at most `limit` characters around `start`, from the beginning if it fits."""
    if len(text.strip()) <= limit or start < limit // 2:
        return excerpt(text, limit)
    window = text[max(0, start - LOOK_BACK) : start]
    begin = start - len(window) + max((end for end in _ends(window + " ")), default=len(window))
    return BEFORE + excerpt(text[begin:], limit - len(BEFORE))


def _ends(text: str) -> Iterator[int]:
    spans = list(sentences(text))
    for place, (_, end) in enumerate(spans):
        if place < len(spans) - 1 or (text[end - 1] in _MARKS and text[end : end + 1].isspace()):
            yield end
    yield from (place for place, character in enumerate(text) if character == "\n")
