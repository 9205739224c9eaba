"""Render a run as text for agents."""

from collections.abc import Iterable, Iterator

from tools.synthesis.models import Gap, SourcePack, SynthesisDraft, SynthesisRun
from tools.text.plain import one_line

NAME_LIMIT, QUERY_LIMIT = 80, 120


def planned_text(run: SynthesisRun) -> str:
    lines = [f"{run.run_id}: {run.outline.title} ({run.outline.output_type})"]
    for section, pack in zip(run.outline.sections, run.source_packs, strict=True):
        lines += ["", f"{section.title}{_counts(pack)}", *_sources(pack)]
    lines += ["", *_gaps(run.verification.gaps)]
    return "\n".join(lines).rstrip() + "\n"


def verified_text(run: SynthesisRun) -> str:
    checked = run.verification
    word = "pass: every section rests on sources" if checked.status == "pass" else f"{checked.gap_count} gap(s)"
    lines = [f"{run.run_id}: {word}; {checked.source_count} source(s).", *_gaps(checked.gaps)]
    lines += [f"{section.title}: {len(section.source_ids)} source(s)" for section in run.outline.sections]
    return "\n".join(lines) + "\n"


def drafted_text(draft: SynthesisDraft) -> str:
    artifact = draft.artifact
    said = f"{artifact.artifact_id}, verification: {artifact.verification.status}"
    if artifact.remembered_memory_id:
        said += f"; kept as {artifact.remembered_memory_id} ({artifact.remembered_scope})"
    return f"{artifact.markdown}\n({said})\n"


def _counts(pack: SourcePack) -> str:
    counts = ((pack.hidden_count, "withheld"), (pack.correction_count, "replaced"), (pack.redaction_count, "redacted"))
    said = [f"{count} {word}" for count, word in counts if count]
    return f" ({', '.join(said)})" if said else ""


def _sources(pack: SourcePack) -> Iterator[str]:
    for source in pack.sources:
        relation = f", {source.relation}" if source.relation else ""
        yield f"- {source.id} {one_line(source.name, NAME_LIMIT)} ({source.type}{relation})"


def _gaps(gaps: Iterable[Gap]) -> Iterator[str]:
    for gap in gaps:
        missing = f" missing {', '.join(gap.missing_source_ids)};" if gap.missing_source_ids else ""
        yield f"Gap in {gap.section_id}: {gap.reason};{missing} looked for: {one_line(gap.query, QUERY_LIMIT)}"
