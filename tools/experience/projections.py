"""Records made of an experience: a manifest, a procedure, a session for each step, and distilled notes. Pure."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from stores.records import JsonObject
from tools.experience.payload import EvidencePart, Experience, Observation
from tools.records.entity_models import CONTENT_LIMIT, NAME_LIMIT
from tools.records.entity_types import OPERATIONAL_NOTE, UNVERIFIED
from tools.text.plain import one_line

STEP_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Projection:
    """Record to keep for a source; its digest tells if it has changed."""

    id: str
    entity_type: str
    name: str
    content: str
    category: str | None = None
    metadata: JsonObject = field(default_factory=dict)

    @property
    def digest(self) -> str:
        said = [self.entity_type, self.name, self.content, self.category, self.metadata]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


class Edge(NamedTuple):
    """Relation to keep for a source."""

    name: str
    source_id: str
    target_id: str

    @property
    def key(self) -> str:
        return "|".join(self)


def record_id(entity_type: str, *names: str) -> str:
    """Return the id of a record of a source, the same in every revision."""
    return f"{entity_type}_{hashlib.sha256(json.dumps(names).encode()).hexdigest()[:16]}"


def manifest_id(source_id: str) -> str:
    return record_id("artifact", source_id)


def projections(experience: Experience) -> Iterator[Projection]:
    """Yield the manifest first, then the procedure and the sessions in the order of the steps."""
    source_id, steps = experience.source_id, experience.steps
    outcome = f"Reported outcome, not verified: {experience.outcome}" if experience.outcome else ""
    goal, told = experience.goal, [_told(step) for step in steps]
    about: JsonObject = {"source_id": source_id, "manifest_id": manifest_id(source_id), "outcome_verified": False}
    counts: JsonObject = {
        "observations": len(steps),
        "evidence_parts": sum(len(step.evidence) for step in steps),
        "start_uri": experience.start_uri,
    }
    yield Projection(
        manifest_id(source_id), "artifact", _name(goal, source_id), _fitting(f"Goal: {goal}", outcome, *told),
        "operational_experience", about | counts,
    )  # fmt: skip
    yield Projection(
        record_id("procedure", source_id), "procedure", _name(f"Tried: {goal}", source_id),
        _fitting(f"Steps that were tried for: {goal}", *told, outcome), "operational_experience",
        about | {"status": UNVERIFIED},
    )  # fmt: skip
    for number, step in enumerate(steps, start=1):
        place: JsonObject = {"observation_id": step.id, "ordinal": step.ordinal, "uri": step.uri}
        session = record_id("session", source_id, step.id)
        name = _name(f"{number}. {step.action or _seen(step)}", step.id)
        yield Projection(session, "session", name, _session(step), "operational_experience", about | place)


def edges(experience: Experience) -> list[Edge]:
    manifest, procedure = manifest_id(experience.source_id), record_id("procedure", experience.source_id)
    found = [Edge("DERIVED_FROM", procedure, manifest)]
    for step in experience.steps:
        session = record_id("session", experience.source_id, step.id)
        found += [Edge("PART_OF", session, manifest), Edge("USES_PROCEDURE", session, procedure)]
    return found


def _told(step: Observation) -> str:
    told = one_line(step.action or _seen(step), STEP_LIMIT) or one_line(step.id, STEP_LIMIT)
    return f"{step.ordinal}. {told}" + (f" ({one_line(step.uri, STEP_LIMIT)})" if step.uri else "")


def _seen(step: Observation) -> str:
    return step.evidence[0].content[:STEP_LIMIT]


def _session(step: Observation) -> str:
    head = _fitting(
        *(f"{label}: {text}" for label, text in
          (("Action", step.action), ("Reasoning", step.reasoning), ("Where", step.uri)) if text)
    )  # fmt: skip
    room, parts = CONTENT_LIMIT - len(head), list[str]()
    for place, part in enumerate(step.evidence):
        parts.append(_excerpt(part, max(room // (len(step.evidence) - place) - 2, 0)))
        room -= len(parts[-1]) + 2
    return "\n\n".join([*([head] if head else []), *parts])[:CONTENT_LIMIT]


def _excerpt(part: EvidencePart, limit: int) -> str:
    whole = f"[{part.id}] {part.content}"
    if len(whole) <= limit:
        return whole
    mark = f"… ({len(part.content)} characters)"
    return whole[: max(limit - len(mark), 0)] + mark if limit > len(mark) else ""


def _fitting(*paragraphs: str) -> str:
    text = "\n".join(each for each in paragraphs if each)
    return text if len(text) <= CONTENT_LIMIT else text[: CONTENT_LIMIT - 1] + "…"


def _name(text: str, instead: str) -> str:
    return one_line(text, NAME_LIMIT) or one_line(instead, NAME_LIMIT) or "Experience"


MOST_NOTES = 12
MOST_QUIET_STEPS = 20
SHOWN_STEPS = 3
QUOTE_LIMIT = 240
SCANNED_LIMIT = 20_000

_TROUBLE = re.compile(
    r"\b(?:\w*(?:error|exception)|traceback|fail(?:s|ed|ure)?|fatal|panic|denied|refused|forbidden|invalid|timed? ?out"
    r"|not found|no such|cannot|can't|unable|conflict|exit (?:status|code) [1-9]\d*)\b",
    re.IGNORECASE,
)
_NO_TROUBLE = re.compile(r"\b(?:0|no|without)\s+(?:\w+\s+)?(?:errors?|failures?|failed|exceptions?)\b", re.IGNORECASE)


class Seen(NamedTuple):
    """The most telling line of a step."""

    step: Mapping[str, Any]
    part: Mapping[str, Any]
    line: str
    start: int
    is_trouble: bool


def notes(outline: JsonObject, text: Callable[[int], str], manifest_id: str) -> tuple[list[Projection], list[Edge]]:
    """Distil notes from an experience, each with the evidence that it rests on; relate them to their sessions."""
    source_id, seen = str(outline["source_id"]), list(_all_seen(outline, text))
    records, edges = [], []
    runs = list(_runs(seen))
    for run, after in zip(runs, [*(each[0] for each in runs[1:]), None], strict=True):
        note = _note(outline, run, after, manifest_id)
        records.append(note)
        edges += [Edge("DERIVED_FROM", note.id, record_id("session", source_id, each.step["id"])) for each in run]
    return records, edges


def _all_seen(outline: JsonObject, text: Callable[[int], str]) -> Iterator[Seen]:
    steps: Any = outline["observations"]
    places = count()
    for step in steps:
        told = [Seen(step, part, *_telling(text(next(places)))) for part in step["evidence"]]
        best, *_ = [each for each in reversed(told) if each.is_trouble] or [each for each in told if each.line] or told
        yield best._replace(is_trouble=best.is_trouble or bool(_ended(step)))


def _ended(step: Mapping[str, Any]) -> str:
    status = step["metadata"].get("exit_code")
    return f"; exit status {status}" if type(status) is int and status else ""


def _telling(text: str) -> tuple[str, int, bool]:
    tail = max(len(text) - SCANNED_LIMIT, 0)
    spans = [(0, text)] if tail <= SCANNED_LIMIT else [(0, text[:SCANNED_LIMIT]), (tail, text[tail:])]
    last, worst, is_traced = ("", 0), None, False
    for offset, some in spans:
        for match in re.finditer(r"(?m)^[^\S\n]*\S.*", some):
            last = match[0], offset + match.start()
            # What Python failed with stands below the indented lines.
            is_end = is_traced and not match[0][0].isspace()
            is_traced = "Traceback (most recent" in match[0] or (is_traced and not is_end)
            worst = last if is_end or _TROUBLE.search(_NO_TROUBLE.sub("", match[0])) else worst
    return (*worst, True) if worst is not None else (*last, False)


def _runs(seen: Sequence[Seen]) -> Iterator[list[Seen]]:
    run: list[Seen] = []
    ended = 0
    most = max(MOST_QUIET_STEPS, -(-len(seen) // (MOST_NOTES // 2)))
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
    cited = [f"[{one_line(each.step['id'], 80)}/{one_line(each.part['id'], 80)}]{_ended(each.step)}" for each in quoted]
    seen = "; ".join(f"“{one_line(each.line, QUOTE_LIMIT)}” {name}" for each, name in zip(quoted, cited, strict=True))
    source_id = str(outline["source_id"])
    return Projection(
        record_id("note", source_id, str(run[0].step["id"])),
        "note",
        one_line(f"{_done(telling[-1])}: {telling[-1].line or 'nothing seen'}", NAME_LIMIT),
        f"For: {one_line(str(outline['goal']), QUOTE_LIMIT)}\nTried: {said}\n"
        f"Seen: {seen or 'nothing'}\nFollows: {follows}",
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
        return f"the run ended; reported outcome, not verified: {one_line(str(outcome), QUOTE_LIMIT)}"
    return "the run ended with this trouble" if last.is_trouble else "the run ended; no outcome was reported"


def _done(seen: Seen) -> str:
    step = seen.step
    return one_line(step["action"] or step["uri"] or step["id"], QUOTE_LIMIT // 2) or "step"


def _citation(seen: Seen) -> JsonObject:
    span = {"start": seen.start, "end": seen.start + len(seen.line)}
    return {"observation_id": seen.step["id"], "evidence_id": seen.part["id"], "sha256": seen.part["sha256"], **span}
