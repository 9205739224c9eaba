"""Synthesize documents from the records of the context packs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evals.datasets.collection import digest_of, json_lines
from evals.harness.asking import ask_part
from evals.options import Options
from evals.packs.world import Goal, Person, Split, World, read_goals, read_records, settled
from evals.results import CHARACTERS_PER_TOKEN, Case, Part
from evals.runs import Journal, Prepared

SHORTEST = 12
"""Shorter pieces of a statement are not checked (characters)."""
_PIECES = re.compile(r"(?<=[.!?…])\s+|\s*…\s*")


@dataclass(frozen=True, slots=True)
class Drafted:
    cited: Sequence[str]
    """Keys of cited records."""
    supported: int
    statements: int
    gaps: frozenset[str]
    """Titles of unsupported sections."""
    by_section: Mapping[str, Sequence[str]]
    characters: int


def score(
    drafted: Drafted, must: frozenset[str], must_not: frozenset[str], off_topic: frozenset[str]
) -> dict[str, float]:
    cited = set(drafted.cited)
    return {
        "needed cited": len(must & cited) / len(must),
        "statements supported": drafted.supported / drafted.statements if drafted.statements else 1.0,
        "nothing wrong": float(not must_not & cited),
        "nothing off topic": float(not off_topic & cited),
    }


def borne_out(statements: Iterable[Mapping[str, Any]], texts: Mapping[str, str]) -> tuple[int, int]:
    """Count the statements whose sentences all stand verbatim in cited records, and all statements."""
    flat = list(_flat(statements))
    return sum(_is_borne_out(each, texts) for each in flat), len(flat)


def _flat(statements: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for each in statements:
        yield each
        yield from _flat(each.get("related", ()))


def _is_borne_out(statement: Mapping[str, Any], texts: Mapping[str, str]) -> bool:
    evidence = [_plain(texts.get(each, "")) for each in statement["source_ids"]]
    said = [statement.get("name") or "", *_PIECES.split(statement["text"])]
    pieces = [piece for each in said if len(piece := _plain(each).rstrip(".")) >= SHORTEST]
    return bool(evidence) and all(any(piece in text for text in evidence) for piece in pieces)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class WantedSection:
    title: str
    must: frozenset[str]
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class SectionRequest:
    id: str
    split: Split
    project: str
    goal: str
    sections: tuple[WantedSection, ...]


def read_requests(folder: Path = FOLDER) -> list[SectionRequest]:
    """Return the requests.

    Raises:
        ValueError: A record is unknown.
    """
    known = {record.key for record in read_records()}
    found = []
    for row in json_lines(folder / "sections.jsonl"):
        sections = tuple(WantedSection(**{**each, "must": frozenset(each["must"])}) for each in row["sections"])
        if unknown := {key for section in sections for key in section.must} - known:
            raise ValueError(f"{row['id']} names {', '.join(sorted(unknown))}, which is no record.")
        found.append(SectionRequest(**{**row, "sections": sections}))
    return found


DRAFT = "/api/synthesis/draft"
GOALS, SECTIONS = "goals", "sections"
NOTES = {GOALS: "documentation", SECTIONS: "requested sections"}
PARTS = (*((GOALS, depth) for depth in ("brief", "standard", "deep")), (SECTIONS, "standard"))


def prepare(options: Options) -> Prepared:
    """Read the labels; measuring takes some minutes."""
    data = {"synthesis": digest_of([*read_goals(), *read_requests(), *read_records()])}
    return Prepared(data, partial(_measure, options=options), {"limit": options.limit})


def _measure(journal: Journal, options: Options) -> None:
    with settled(journal, options) as (world, server):
        _draft(world, "ada", {"goal": read_goals()[0].goal})
        for name, arm in PARTS:
            part = Part(name, arm, "record", len(world.ids), "needed cited", note=NOTES[name])
            ask_part(journal, server, part, _cases(world, name, arm, options.limit))


def _cases(world: World, name: str, arm: str, limit: int | None) -> Iterator[Case]:
    if name == SECTIONS:
        return (_of_sections(world, request) for request in read_requests()[:limit])
    return (_of_goal(world, goal, arm) for goal in read_goals()[:limit])


def _draft(world: World, person: Person, body: Mapping[str, Any]) -> Drafted:
    run = world.clients[person].post(DRAFT, {"output_format": "json", **body})
    artifact, keys = run["artifact"], world.keys
    sections = artifact["json_payload"]["sections"]
    texts = {world.ids[record.key]: f"{record.name}\n{record.content}" for record in world.records}
    supported, statements = borne_out([each for section in sections for each in section["statements"]], texts)
    titles = {section["section_id"]: section["title"] for section in sections}
    return Drafted(
        cited=[keys.get(each, each) for each in artifact["source_ids"]],
        supported=supported,
        statements=statements,
        gaps=frozenset(titles[gap["section_id"]] for gap in run["verification"]["gaps"]),
        by_section={section["title"]: [keys.get(each, each) for each in section["source_ids"]] for section in sections},
        characters=len(artifact["markdown"]),
    )


def _of_goal(world: World, goal: Goal, depth: str) -> Case:
    project = {"project": world.ids[goal.project]} if goal.project is not None else {}
    drafted = _draft(world, goal.asker, {"goal": goal.goal, "depth": depth, **project})
    values = score(drafted, goal.must, goal.must_not, goal.off_topic)
    return _case(world, (GOALS, depth), goal, drafted, values, goal.must)


def _of_sections(world: World, request: SectionRequest) -> Case:
    wanted = [{"title": each.title, "prompt": each.prompt} for each in request.sections]
    body = {"goal": request.goal, "project": world.ids[request.project], "required_sections": wanted}
    drafted = _draft(world, "ada", body)
    must = {(each.title, key) for each in request.sections for key in each.must}
    cited = {(title, key) for title, keys in drafted.by_section.items() for key in keys}
    empty = {each.title for each in request.sections if not each.must}
    held = {each.title for each in request.sections} - empty
    values = {
        "needed cited": len(must & cited) / len(must),
        "statements supported": drafted.supported / drafted.statements if drafted.statements else 1.0,
        "gaps found": len(empty & drafted.gaps) / len(empty),
        "no false gaps": 1 - len(held & drafted.gaps) / len(held),
    }
    return _case(world, (SECTIONS, "standard"), request, drafted, values, frozenset(key for _, key in must))


def _case(
    world: World, part: tuple[str, str], asked: Goal | SectionRequest, drafted: Drafted, values: Mapping[str, float],
    must: frozenset[str],
) -> Case:  # fmt: skip
    return Case(
        *part,
        unit="record",
        id=asked.id,
        values=values,
        category=asked.split,
        question=asked.goal,
        wanted=dict.fromkeys(sorted(must), 1),
        found=tuple(drafted.cited),
        took_ms=world.clients[asked.asker if isinstance(asked, Goal) else "ada"].took_ms,
        tokens=drafted.characters // CHARACTERS_PER_TOKEN,
        best=world.named(drafted.cited[:3]),
        missed=world.named(sorted(must.difference(drafted.cited))),
    )
