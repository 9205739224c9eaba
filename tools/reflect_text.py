"""A reflection as an agent reads it: what was found, what became of it, what speaks against it."""

from collections.abc import Sequence
from itertools import groupby

from tools.reflect_models import ReflectionCandidate, ReflectionFinding, ReflectRequest
from tools.reflection import KINDS, Kind

HEADINGS: dict[Kind, str] = {
    "decision": "Decisions",
    "task": "Tasks",
    "plan": "Plans",
    "idea": "Ideas",
    "claim": "Claims",
    "procedure": "Procedures",
    "artifact": "Artifacts",
    "session": "Session",
}
CONTENT_SHOWN = 600
"""Characters of a candidate's words that are shown; the rest is in the structured answer."""


def markdown(
    request: ReflectRequest, candidates: Sequence[ReflectionCandidate], source_id: str | None, notes: Sequence[str]
) -> str:
    """Lay the candidates out by kind, each with its confidence, its id where it is kept, and what is known of it."""
    lines = [f"# {' '.join(request.source_title.split())}", ""]
    lines += [_summary(candidates, source_id), *notes]
    order = {kind: number for number, kind in enumerate(KINDS)}
    ordered = sorted(candidates, key=lambda each: order[each.kind])
    for kind, group in groupby(ordered, key=lambda each: each.kind):
        lines += ["", f"## {HEADINGS[kind]}", ""]
        for each in group:
            lines += _entry(each)
    return "\n".join(lines) + "\n"


def _summary(candidates: Sequence[ReflectionCandidate], source_id: str | None) -> str:
    kept = sum(each.persisted_id is not None for each in candidates)
    known = sum(any(each.kind == "duplicate" for each in found.reflection_findings) for found in candidates)
    opposed = sum(
        any(each.kind in ("contradiction", "supersession", "stale") for each in found.reflection_findings)
        for found in candidates
    )
    parts = [f"{len(candidates)} candidate{'' if len(candidates) == 1 else 's'}"]
    parts += [f"{kept} kept"] if kept else []
    parts += [f"{known} known already"] if known else []
    parts += [f"{opposed} at odds with what is known"] if opposed else []
    source = f" The notes are kept as {source_id}." if source_id else ""
    return f"{', '.join(parts)}.{source}" if candidates else f"Nothing in the notes is worth keeping.{source}"


def _entry(candidate: ReflectionCandidate) -> list[str]:
    kept = f" → {candidate.persisted_id}" if candidate.persisted_id else ""
    lines = [f"- **{candidate.title}** ({candidate.confidence:.2f}){kept}"]
    said = " ".join(candidate.content.split())
    if said.strip(" .").lower() != candidate.title.strip(" .").lower():
        lines.append(f"  {said if len(said) <= CONTENT_SHOWN else said[:CONTENT_SHOWN].rsplit(' ', 1)[0] + ' …'}")
    return [*lines, *(f"  - {_finding(each)}" for each in candidate.reflection_findings)]


def _finding(finding: ReflectionFinding) -> str:
    target = finding.target_source_id
    named = f" ({target})" if target and target not in finding.reason else ""
    return f"{finding.kind}{named}: {finding.reason}"


def usage_hint(request: ReflectRequest, count: int, kept: int) -> str:
    """Say in a sentence what to do next."""
    if not count:
        return "Nothing to do: state decisions, causes and to-dos in the notes to have them found."
    if request.persist_review:
        return "Review the candidates, then promote each by its persisted_id (POST /api/memory/reflection/promote)."
    if request.persist and kept:
        return "Kept. What a contradiction names, and is wrong, is retired by a record with related_to supersedes:<id>."
    if request.persist:
        return "Nothing was written: every candidate is known already, or sensitive. The findings name the records."
    return "Nothing of this is in the graph: send the notes again with persist, or persist_review."
