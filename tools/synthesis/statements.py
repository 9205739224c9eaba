"""Statements: each source in its own words, in its best section. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tools.reflecting.reflection.layout import Block, blocks
from tools.reflecting.reflection.similarity import groups, overlap, terms
from tools.synthesis.models import Gap, GapReason, Verification
from tools.synthesis.outline import Pack, Source
from tools.synthesis.templates import Extent
from tools.text.plain import one_line
from tools.text.sentences import sentences

NAMED_ALREADY = 0.7
SENTENCE_LIMIT = 400
READ_FROM_START = frozenset({"procedures", "planning"})
_NUMBER = re.compile(r"\d{1,3}[.)][ \t]+\Z")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]{1,300}?)(?<=[^\s*])\1(?![\w*])")
SHARED = 3
FEWEST_WORDS = 3
_ENDS = '.!?…:;"”»)`'


@dataclass(frozen=True, slots=True)
class Statement:
    source: Source
    name: str
    text: str
    source_ids: tuple[str, ...]
    below: tuple["Statement", ...] = ()

    @property
    def all_source_ids(self) -> list[str]:
        return [each for one in (self, *self.below) for each in one.source_ids]


@dataclass(frozen=True, slots=True)
class Told:
    pack: Pack
    statements: tuple[Statement, ...] = ()
    elsewhere: tuple[tuple[Source, str], ...] = ()
    """Sources that another section tells, with its title."""

    @property
    def source_ids(self) -> list[str]:
        cited = [each for statement in self.statements for each in statement.all_source_ids]
        return list(dict.fromkeys([*cited, *(each.id for each, _ in self.elsewhere)]))


def tell(packs: Sequence[Pack], extent: Extent) -> list[Told]:
    homes = _homes(packs)
    told = []
    for place, pack in enumerate(packs):
        here = [each for each in pack.sources if homes[each.id] == place and not each.is_redacted]
        found = [_statement(each, pack, extent) for each in here]
        # A heading alone states nothing.
        statements = _nested([each for each in found if each.text or each.source.origin != "document"])
        told.append(Told(pack, tuple(statements), tuple(_elsewhere(packs, homes, place))))
    kept = _once(told)
    said = {each for statements in kept for one in statements for each in one.all_source_ids}
    return [
        replace(each, statements=statements, elsewhere=tuple(one for one in each.elsewhere if one[0].id in said))
        for each, statements in zip(told, kept, strict=True)
    ]


def _homes(packs: Sequence[Pack]) -> dict[str, int]:
    ranks: dict[str, list[tuple[tuple[bool, bool, bool, float], int]]] = {}
    for place, pack in enumerate(packs):
        for source in pack.sources:
            rank = (source.is_pinned, source.relation is None, pack.section.is_on_its_own, source.score)
            ranks.setdefault(source.id, []).append((rank, place))
    homes: dict[str, int] = {}
    shared: Counter[int] = Counter()
    for source_id, found in ranks.items():
        best = max(rank for rank, _ in found)
        places = [place for rank, place in found if rank == best]
        home = next((place for place in places if shared[place] < SHARED), places[-1])
        shared[home] += len(places) > 1
        homes[source_id] = home
    return homes


def _elsewhere(packs: Sequence[Pack], homes: dict[str, int], place: int) -> Iterable[tuple[Source, str]]:
    pack = packs[place]
    if not pack.section.is_requested and any(homes[each.id] == place for each in pack.sources):
        return
    for source in pack.sources:
        home = homes[source.id]
        if home != place and source.relation is None and not source.is_redacted:
            yield source, packs[home].section.title


def _statement(source: Source, pack: Pack, extent: Extent) -> Statement:
    found = _sentences(source.text)
    start = 0 if source.facet in READ_FROM_START else _start(found, pack.section.query, extent.quoted)
    kept = _from(found, start, extent.quoted)
    text = " ".join([*(["…"] if start else []), *kept])
    name = source.name
    if kept and not start and _says(kept[0], name):
        name = ""
    elif text and text == name:
        text = ""
    return Statement(source, name, text, (source.id,))


def _sentences(text: str) -> list[str]:
    is_cut_before, is_cut_after = text.startswith("…"), text.endswith("…")
    found = []
    for block in blocks(text):
        part = f"{_number(text, block)}{text[block.start : block.end]}"
        found += [one_line(part[start:end]) for start, end in sentences(part)]
    if is_cut_before and found:
        found[0] = found[0].removeprefix("…").lstrip()
    if is_cut_after and len(found) > 1 and found[-1].endswith("…") and found[-1].rstrip(" …")[-1:] not in _ENDS:
        found.pop()
    found = [_EMPHASIS.sub(r"\2", each) for each in found]
    told = [one_line(each, SENTENCE_LIMIT) for each in found if len(each.split()) >= FEWEST_WORDS]
    return list(dict.fromkeys(told or [one_line(each, SENTENCE_LIMIT) for each in found]))


def _number(text: str, block: Block) -> str:
    mark = _NUMBER.search(text[: block.start]) if block.ordered else None
    return mark[0].lstrip() if mark else ""


def _start(found: Sequence[str], query: str, room: int) -> int:
    if sum(map(len, found)) <= room:
        return 0
    wanted, said = terms(query), [terms(" ".join(_from(found, place, room))) for place in range(len(found))]
    shares = [len(each.stems & wanted.stems) + len(each.numbers & wanted.numbers) for each in said]
    return max(range(len(found)), key=lambda place: (shares[place], -place), default=0)


def _from(found: Sequence[str], start: int, room: int) -> list[str]:
    kept: list[str] = []
    for sentence in found[start:]:
        if kept and sum(map(len, kept)) + len(sentence) > room:
            break
        kept.append(sentence if sentence[-1:] in _ENDS else f"{sentence}.")
    if len(kept) > 1 and kept[-1].endswith(":"):
        kept.pop()
    # The code or list that such a sentence introduces may be missing.
    return [f"{each[:-1]} …" if each.endswith(":") else each for each in kept]


def _says(sentence: str, name: str) -> bool:
    if sentence.casefold().startswith(name.casefold().rstrip(".")):
        return True
    one, other = terms(sentence), terms(name)
    return bool(other.stems) and overlap(one.stems, other.stems) >= NAMED_ALREADY and other.numbers <= one.numbers


def _nested(found: Sequence[Statement]) -> list[Statement]:
    there = {each.source.id for each in found if each.source.around is None}
    below: dict[str, list[Statement]] = {}
    for each in found:
        if each.source.around in there:
            below.setdefault(str(each.source.around), []).append(each)
    return [
        replace(each, below=tuple(below.get(each.source.id, ()))) for each in found if each.source.around not in there
    ]


def _once(told: Sequence[Told]) -> list[tuple[Statement, ...]]:
    flat = [(place, statement) for place, each in enumerate(told) for statement in each.statements]
    leaders = groups([("", statement.text or statement.name) for _, statement in flat])
    cited: dict[int, list[str]] = {}
    for number, leader in enumerate(leaders):
        cited.setdefault(leader, []).extend(flat[number][1].source_ids)
    kept: list[list[Statement]] = [[] for _ in told]
    for number, (place, statement) in enumerate(flat):
        if leaders[number] == number:
            kept[place].append(replace(statement, source_ids=tuple(dict.fromkeys(cited[number]))))
    return [tuple(each) for each in kept]


def planned_gaps(pack: Pack) -> list[Gap]:
    found = [_gap(pack, "required_source_ids_not_found", missing=pack.missing)] if pack.missing else []
    if not pack.sources:
        is_asked = pack.section.is_requested
        found.append(_gap(pack, "no_source_supports_requested_section" if is_asked else "no_materialized_sources"))
    return found


def drafted_gaps(told: Told) -> list[Gap]:
    pack = told.pack
    found = planned_gaps(pack)
    if pack.sources and not told.source_ids:
        found.append(_gap(pack, "no_citable_sources"))
    undated = [each.id for each in pack.sources if each.changed_at is None]
    if undated:
        found.append(_gap(pack, "missing_freshness_metadata", query=" ".join(undated), missing=undated))
    return [*found, *(_gap(pack, "unresolved_claim", query=claim) for claim in pack.claims)]


def verification(packs: Sequence[Pack], gaps: Sequence[Gap], *, is_drafted: bool) -> Verification:
    sources = {each for pack in packs for each in pack.source_ids}
    return Verification(
        status="gaps" if gaps else "pass" if is_drafted else "pending",
        source_count=len(sources),
        gap_count=len(gaps),
        gaps=list(gaps),
    )


def _gap(pack: Pack, reason: GapReason, *, query: str | None = None, missing: Sequence[str] = ()) -> Gap:
    asked = pack.section.query if query is None else query
    return Gap(section_id=pack.section.id, reason=reason, query=asked, missing_source_ids=list(missing))
