"""Operational notes: what was tried, what was seen, what follows. Pure and deterministic."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stores.records import JsonObject
from tools.experience.projections import Edge, Projection, record_id, session_id
from tools.records.entity_models import NAME_LIMIT
from tools.text.plain import one_line

OPERATIONAL_NOTE = "operational_note"
"""Category of distilled notes."""
MOST_NOTES = 12
MOST_STEPS = 20
"""Steps of a note that names no trouble."""
SHOWN_STEPS = 3
QUOTED = 240
"""Characters of a quotation."""
SCANNED = 20_000
"""Characters that are read at either end of a long evidence part."""

_TROUBLE = re.compile(
    r"\b(?:error|exception|traceback|fail(?:s|ed|ure)?|fatal|panic|denied|refused|forbidden|invalid|timed? ?out"
    r"|not found|no such|cannot|can't|unable|conflict|exit (?:status|code) [1-9]\d*)\b",
    re.IGNORECASE,
)
_NO_TROUBLE = re.compile(r"\b(?:0|no|without)\s+(?:\w+\s+)?(?:errors?|failures?|failed|exceptions?)\b", re.IGNORECASE)

Text = Callable[[int], str]
"""Returns the text of an evidence part by its place."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The most telling line of a step."""

    step: Mapping[str, Any]
    part: Mapping[str, Any]
    line: str
    start: int
    is_trouble: bool


def notes(outline: JsonObject, text: Text, manifest_id: str) -> tuple[list[Projection], list[Edge]]:
    """Distil notes from an experience, each with the evidence that it rests on; relate them to their sessions."""
    source_id, seen = str(outline["source_id"]), list(_seen(outline, text))
    records, edges = [], []
    runs = list(_runs(seen))
    for run, after in zip(runs, [*(each[0] for each in runs[1:]), None], strict=True):
        note = _note(outline, run, after, manifest_id)
        records.append(note)
        edges += [Edge("DERIVED_FROM", note.id, session_id(source_id, each.step["id"])) for each in run]
    return records, edges


def _seen(outline: JsonObject, text: Text) -> Iterator[Seen]:
    steps: Any = outline["observations"]
    place = 0
    for step in steps:
        found: Seen | None = None
        for part in step["evidence"]:
            line, start, is_trouble = _telling(text(place))
            place += 1
            if found is None or (is_trouble and not found.is_trouble) or (line and not found.line):
                found = Seen(step, part, line, start, is_trouble)
        if found is not None:
            yield found


def _telling(text: str) -> tuple[str, int, bool]:
    tail = max(len(text) - SCANNED, 0)
    spans = [(0, text)] if tail <= SCANNED else [(0, text[:SCANNED]), (tail, text[tail:])]
    last, worst = ("", 0), None
    for offset, some in spans:
        for match in re.finditer(r"[^\n]*\S[^\n]*", some):
            last = match[0], offset + match.start()
            worst = last if _TROUBLE.search(_NO_TROUBLE.sub("", match[0])) else worst
    return (*worst, True) if worst is not None else (*last, False)


def _runs(seen: Sequence[Seen]) -> Iterator[list[Seen]]:
    run: list[Seen] = []
    ended = 0
    most = max(MOST_STEPS, -(-len(seen) // (MOST_NOTES // 2)))
    for each in seen:
        run.append(each)
        if ended < MOST_NOTES - 1 and (each.is_trouble or len(run) >= most):
            yield run
            run, ended = [], ended + 1
    if run:
        yield run


def _note(outline: JsonObject, run: Sequence[Seen], after: Seen | None, manifest_id: str) -> Projection:
    telling = [each for each in run if each.is_trouble] or [run[-1]]
    tried = [_done(each) for each in run]
    more = len(tried) - SHOWN_STEPS
    shown = [*tried[: SHOWN_STEPS - 1], tried[-1]] if more > 0 else tried
    said = "; ".join(shown) + (f" (and {more} more)" if more > 0 else "")
    follows = _follows(outline, telling[-1], after)
    quoted = [each for each in telling[-SHOWN_STEPS:] if each.line]
    cited = [f"[{one_line(each.step['id'], 80)}/{one_line(each.part['id'], 80)}]" for each in quoted]
    seen = "; ".join(f"“{one_line(each.line, QUOTED)}” {name}" for each, name in zip(quoted, cited, strict=True))
    source_id = str(outline["source_id"])
    return Projection(
        record_id("note", source_id, str(run[0].step["id"])),
        "note",
        one_line(f"{_done(telling[-1])}: {telling[-1].line or 'nothing seen'}", NAME_LIMIT),
        f"For: {one_line(str(outline['goal']), QUOTED)}\nTried: {said}\nSeen: {seen or 'nothing'}\nFollows: {follows}",
        OPERATIONAL_NOTE,
        {
            "source_id": source_id, "manifest_id": manifest_id, "outcome_verified": False,
            "evidence": [_citation(each) for each in (quoted or telling[-1:])],
        },
    )  # fmt: skip


def _follows(outline: JsonObject, last: Seen, after: Seen | None) -> str:
    if after is not None:
        return f"{'after this trouble, ' if last.is_trouble else ''}next: {_done(after)}"
    outcome = outline.get("outcome")
    if outcome:
        return f"the run ended; reported outcome, not verified: {one_line(str(outcome), QUOTED)}"
    return "the run ended with this trouble" if last.is_trouble else "the run ended; no outcome was reported"


def _done(seen: Seen) -> str:
    step = seen.step
    return one_line(step["action"] or step["uri"] or step["id"], QUOTED // 2) or "step"


def _citation(seen: Seen) -> JsonObject:
    span = {"start": seen.start, "end": seen.start + len(seen.line)}
    return {"observation_id": seen.step["id"], "evidence_id": seen.part["id"], "sha256": seen.part["sha256"], **span}
