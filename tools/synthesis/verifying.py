"""Verification: citations exist, and numbers and names occur in the cited sources. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tools.synthesis.models import Gap, Verification
from tools.synthesis.sources import Pack, Source
from tools.synthesis.statements import Statement, Told
from tools.text.claims import names_missing, numbers_missing
from tools.text.plain import plain


def planned_gaps(pack: Pack) -> list[Gap]:
    section, found = pack.section, []
    if pack.missing:
        found.append(_gap(pack, "required_source_ids_not_found", missing=pack.missing))
    if not pack.sources:
        is_asked = section.is_requested
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
    status = "gaps" if gaps else "pass" if is_drafted else "pending"
    return Verification.model_validate(
        {"status": status, "source_count": len(sources), "gap_count": len(gaps), "gaps": gaps}
    )


def verified(told: Sequence[Told]) -> list[Told]:
    """Drop unsupported statements and dangling citations."""
    known = {source.id: source for each in told for source in each.pack.sources if not source.is_redacted}
    kept = [replace(each, statements=tuple(_borne_out(each.statements, known)), elsewhere=()) for each in told]
    said = {source_id for each in kept for source_id in each.source_ids}
    return [
        replace(each, elsewhere=tuple(one for one in before.elsewhere if one.source_id in said))
        for each, before in zip(kept, told, strict=True)
    ]


def _borne_out(statements: Iterable[Statement], known: Mapping[str, Source]) -> Iterator[Statement]:
    for statement in statements:
        cited = tuple(each for each in statement.source_ids if each in known)
        if cited and not unsupported(statement.said, [known[each] for each in cited[:1]]):
            yield replace(statement, source_ids=cited, below=tuple(_borne_out(statement.below, known)))


def unsupported(said: str, sources: Sequence[Source]) -> list[str]:
    evidence = plain("\n".join(f"{each.name}\n{each.text}" for each in sources))
    return [*numbers_missing(said, evidence), *names_missing(said, evidence)]


def _gap(pack: Pack, reason: str, *, query: str | None = None, missing: Sequence[str] = ()) -> Gap:
    return Gap.model_validate(
        {
            "section_id": pack.section.id,
            "reason": reason,
            "query": pack.section.query if query is None else query,
            "missing_source_ids": list(missing),
        }
    )
