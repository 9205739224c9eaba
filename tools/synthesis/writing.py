"""Write sections as Markdown and as data. Pure and deterministic.

Text of records becomes one line without heading, link, image, mention or HTML.
"""

from collections.abc import Iterator, Mapping, Sequence

from stores.records import JsonObject
from tools.packs.facets import SHELVES
from tools.records.trust import trust_of
from tools.synthesis.models import Gap, PlanRequest, Verification
from tools.synthesis.outline import Pack, Source, title_of
from tools.synthesis.statements import Statement, Told
from tools.text.inline import inert

GROUPED_FROM = 6
OTHERS = "Further Records"
EMPTY = "Nothing that could be read and cited was found for this section."
REASONS: Mapping[str, str] = {
    "required_source_ids_not_found": "these ids name nothing that can be used here",
    "no_source_supports_requested_section": "no source supports it; looked for",
    "no_materialized_sources": "no source was found; looked for",
    "no_citable_sources": "its sources hold nothing that can be quoted; looked for",
    "missing_freshness_metadata": "nothing says when these sources were changed",
    "unresolved_claim": "this is not settled",
}
QUERY_SHOWN = 160
_MIDDLE = "x "


def markdown(request: PlanRequest, told: Sequence[Told], verification: Verification) -> str:
    titles = {each.pack.section.id: each.pack.section.title for each in told}
    known = {source.id: source for each in told for source in each.pack.sources}
    cited = [known[each] for each in dict.fromkeys(each for one in told for each in one.source_ids)]
    gaps = [_gap(gap, titles[gap.section_id]) for gap in verification.gaps]
    wishes = ["Asked for, and not checked here:", "", *(f"- {inert(each)}" for each in request.constraints)]
    parts = [
        f"# {inert(title_of(request))}",
        _about(request, cited),
        *(["\n".join(wishes)] if request.constraints else []),
        *(_section(each) for each in told),
        "\n".join(["## Sources", "", *([_source(each) for each in cited] or ["None."])]),
        _freshness(cited, told),
        "\n".join(["## Verification Gaps", "", *(gaps or ["None: every section rests on sources."])]),
    ]
    return "\n\n".join(parts) + "\n"


def payload(run_id: str, request: PlanRequest, told: Sequence[Told], verification: Verification) -> JsonObject:
    return {
        "run_id": run_id,
        "title": title_of(request),
        "output_type": request.output_type,
        "audience": request.audience,
        "sections": [
            {
                "section_id": each.pack.section.id,
                "title": each.pack.section.title,
                "statements": [_statement_data(statement) for statement in each.statements],
                "see_also": [
                    {"source_id": source.id, "name": source.name, "section": title} for source, title in each.elsewhere
                ],
                "source_ids": list(each.source_ids),
            }
            for each in told
        ],
        "verification": verification.model_dump(mode="json"),
    }


def _statement_data(statement: Statement) -> JsonObject:
    source = statement.source
    shown: JsonObject = {
        "name": statement.name or None,
        "text": statement.text,
        "status": source.status or None,
        "source_ids": list(statement.source_ids),
    }
    if source.relation:
        shown |= {"relation": source.relation, "direction": "outgoing" if source.is_outgoing else "incoming"}
    if statement.below:
        shown["related"] = [_statement_data(each) for each in statement.below]
    return shown


def _about(request: PlanRequest, cited: Sequence[Source]) -> str:
    audience = (request.audience or "").strip()
    whom = f" for {inert(audience)}" if audience else ""
    records = "1 record" if len(cited) == 1 else f"{len(cited)} records"
    kind = "Document" if request.output_type == "custom" else _spoken(request.output_type).capitalize()
    return f"{kind}{whom}, compiled from {records}. Ids in brackets name what a line rests on."


def _section(told: Told) -> str:
    lines = [f"## {inert(told.pack.section.title)}"]
    kinds = list(dict.fromkeys(_kind(each) for each in told.statements))
    is_grouped = len(kinds) > 1 and len(told.statements) >= max(GROUPED_FROM, 2 * len(kinds))
    for kind in kinds:
        bullets = [line for each in told.statements if _kind(each) == kind for line in _bullet(each)]
        lines += ["", f"### {kind}", "", *bullets] if is_grouped else [] if lines[1:] else [""]
        lines += [] if is_grouped else bullets
    if told.elsewhere:
        lines += ["", *_see_also(told.elsewhere)]
    if not told.statements and not told.elsewhere:
        lines += ["", EMPTY]
    return "\n".join(lines)


def _see_also(elsewhere: Sequence[tuple[Source, str]]) -> Iterator[str]:
    for title in dict.fromkeys(each for _, each in elsewhere):
        named = (f"**{inert(source.name)}** [{source.id}]" for source, each in elsewhere if each == title)
        yield f"- See also, under {inert(title)}: {'; '.join(named)}"


def _kind(statement: Statement) -> str:
    return SHELVES[statement.source.facet].title if statement.source.facet else OTHERS


def _bullet(statement: Statement, indent: str = "") -> Iterator[str]:
    source = statement.source
    relation = _spoken(source.relation.lower()) if source.relation and indent else ""
    before = f"{relation}: " if relation and source.is_outgoing else ""
    after = f" ({relation} this)" if relation and not source.is_outgoing else ""
    name = f"**{inert(statement.name)}**" if statement.name else ""
    state = f" ({inert(_spoken(source.status))})" if source.status else ""
    text = inert(statement.text)
    if statement.text and (name or state or relation):
        text = inert(f"{_MIDDLE}{statement.text}").removeprefix(_MIDDLE)
    colon = ": " if (name or state or after) and text else ""
    citations = " ".join(f"[{each}]" for each in statement.source_ids)
    head = f"{name}{state}{after}".strip()
    yield f"{indent}- {before}{head}{colon}{text} {citations}"
    for each in statement.below:
        yield from _bullet(each, f"{indent}  ")


def _spoken(word: str) -> str:
    return word.replace("_", " ")


def _source(source: Source) -> str:
    states = (source.status, trust_of(source.metadata))
    marks = [_spoken(source.type), *(_spoken(each) for each in states if each)]
    marks += [source.changed_at.date().isoformat()] if source.changed_at else []
    marks += [source.document] if source.document else []
    return f"- [{source.id}] {inert(source.name)} ({', '.join(inert(each) for each in marks)})"


def _freshness(cited: Sequence[Source], told: Sequence[Told]) -> str:
    dated = sorted((each.changed_at, each.id) for each in cited if each.changed_at)
    lines = ["## Freshness", ""]
    if dated:
        first, last = dated[0], dated[-1]
        what = "The sources were" if len(dated) > 1 else "The source was"
        when = f"on {first[0].date()} {' '.join(f'[{each}]' for each in dict.fromkeys((first[1], last[1])))}"
        if first[0].date() != last[0].date():
            when = f"between {first[0].date()} [{first[1]}] and {last[0].date()} [{last[1]}]"
        lines.append(f"{what} last changed {when}.")
    else:
        lines.append("There are no sources to date.")
    left_out = [line for each in told for line in _left_out(each.pack)]
    if failed := {f"{name} ({_spoken(why)})" for each in told for name, why in each.pack.degraded.items()}:
        left_out.insert(0, f"- Not everything could be searched: {', '.join(sorted(failed))}. Ask again later.")
    return "\n".join([*lines, *(["", *left_out] if left_out else [])])


def _left_out(pack: Pack) -> Iterator[str]:
    redacted = sum(each.is_redacted for each in pack.sources)
    counts = (
        (pack.hidden, "withheld or archived"),
        (len(pack.corrections), "replaced by newer ones"),
        (redacted, "not quoted because of credentials in them"),
    )
    said = [f"{count} {why}" for count, why in counts if count]
    if said:
        yield f"- {inert(pack.section.title)}, records left out: {'; '.join(said)}."


def _gap(gap: Gap, title: str) -> str:
    said = REASONS[gap.reason]
    if gap.missing_source_ids:
        what = ", ".join(inert(each) for each in gap.missing_source_ids)
    else:
        what = f"“{inert(gap.query[:QUERY_SHOWN])}”"
    return f"- {inert(title)}: {said}: {what}".replace("looked for: ", "looked for ")
