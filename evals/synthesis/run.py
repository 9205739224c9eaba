"""Has documents written of the records of the context packs, over REST, and lays the figures out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from evals.answers import ask_missing
from evals.digests import digest_of
from evals.harness.asking import close_part
from evals.harness.server import wanted_server
from evals.metrics import bootstrap
from evals.options import Options
from evals.packs.labels import Goal, Person, read_goals, read_records
from evals.packs.world import World, settled
from evals.prepared import Prepared
from evals.reports.figures import clusters_of
from evals.reports.tables import shown
from evals.results import CHARACTERS_PER_TOKEN, Case, Outcome, Part
from evals.runs import Journal
from evals.synthesis.labels import SectionRequest, read_requests
from evals.synthesis.scoring import Drafted, borne_out, score

DRAFT = "/api/synthesis/draft"
DEPTHS = ("brief", "standard", "deep")
NAME, GOALS, SECTIONS = "synthesis", "goals", "sections"
NOTES = {GOALS: "documentation", SECTIONS: "requested sections"}
BEST = 3
"""Records whose names a report shows of what a document cites."""
PARTS = (*((GOALS, depth) for depth in DEPTHS), (SECTIONS, "standard"))


def prepare(options: Options) -> Prepared:
    """Read the records, goals and requests. Measuring takes some minutes.

    Raises:
        EngrainError: The server that is named does not answer, or is to be asked by one user alone.
    """
    data = {NAME: digest_of([*read_goals(), *read_requests(), *read_records()])}
    server = wanted_server(options, by_several=True)
    command = {"limit": options.limit, **server.command}
    return Prepared(command, server.settings, data, lambda journal: _measure(journal, options), server.subject)


def _measure(journal: Journal, options: Options) -> Outcome:
    if wanted := [part for part in PARTS if part not in journal.parts]:
        with settled(journal, NAME, options) as settlement:
            world = settlement.world
            _draft(world, "ada", {"goal": read_goals()[0].goal})
            for name, arm in wanted:
                asked = _asked(world, name, arm, options.limit)
                ask_missing(journal, {(name, arm, key): partial(_alone, ask) for key, ask in asked.items()})
                part = Part(name, arm, "record", len(world.ids), "needed cited", note=NOTES[name])
                close_part(journal, settlement.target, replace(part, loading_s=settlement.loading_s))
    cases = list(journal.cases.values())
    return Outcome(cases, list(journal.parts.values()), markdown(cases), {})


def _asked(world: World, name: str, arm: str, limit: int | None) -> dict[str, Callable[[], Case]]:
    """What has each document of a part written, by the ids of the cases."""
    if name == SECTIONS:
        return {request.id: partial(_of_sections, world, request) for request in read_requests()[:limit]}
    return {goal.id: partial(_of_goal, world, goal, arm) for goal in read_goals()[:limit]}


def _alone(ask: Callable[[], Case]) -> tuple[Case, Mapping[str, Any]]:
    """Nothing has to be known of a document but its case."""
    return ask(), {}


def _draft(world: World, person: Person, body: Mapping[str, Any]) -> Drafted:
    client = world.clients[person]
    run = client.post(DRAFT, {"output_format": "json", **body})
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
        took_ms=client.took_ms,
    )


def _of_goal(world: World, goal: Goal, depth: str) -> Case:
    names = {record.key: record.name for record in world.records}
    project = {"project": world.ids[goal.project]} if goal.project is not None else {}
    drafted = _draft(world, goal.asker, {"goal": goal.goal, "depth": depth, **project})
    return Case(
        set=GOALS,
        arm=depth,
        unit="record",
        id=goal.id,
        values=score(drafted, goal.must, goal.must_not, goal.off_topic),
        category=goal.split,
        question=goal.goal,
        wanted=dict.fromkeys(sorted(goal.must), 1),
        found=tuple(drafted.cited),
        took_ms=drafted.took_ms,
        tokens=drafted.characters // CHARACTERS_PER_TOKEN,
        best=[names.get(key, key) for key in drafted.cited[:BEST]],
        missed=[names[key] for key in sorted(goal.must.difference(drafted.cited))],
    )


def _of_sections(world: World, request: SectionRequest) -> Case:
    wanted = [{"title": each.title, "prompt": each.prompt} for each in request.sections]
    names = {record.key: record.name for record in world.records}
    body = {"goal": request.goal, "project": world.ids[request.project], "required_sections": wanted}
    drafted = _draft(world, "ada", body)
    must = {(each.title, key) for each in request.sections for key in each.must}
    cited = {(title, key) for title, keys in drafted.by_section.items() for key in keys}
    empty = {each.title for each in request.sections if not each.must}
    held = {each.title for each in request.sections} - empty
    return Case(
        set=SECTIONS,
        arm="standard",
        unit="record",
        id=request.id,
        values={
            "needed cited": len(must & cited) / len(must),
            "statements supported": drafted.supported / drafted.statements if drafted.statements else 1.0,
            "gaps found": len(empty & drafted.gaps) / len(empty),
            "no false gaps": 1 - len(held & drafted.gaps) / len(held),
        },
        category=request.split,
        question=request.goal,
        wanted=dict.fromkeys(sorted(key for _, key in must), 1),
        found=tuple(drafted.cited),
        took_ms=drafted.took_ms,
        tokens=drafted.characters // CHARACTERS_PER_TOKEN,
        best=[names.get(key, key) for key in drafted.cited[:BEST]],
        missed=[f"{title}: {names[key]}" for title, key in sorted(must - cited)],
    )


def markdown(cases: Sequence[Case]) -> str:
    """Lay the figures out: one row for each set, depth and split."""
    lines = ["| documents | n | measure | mean | tokens |", "|---|---|---|---|---|"]
    for arm in dict.fromkeys((case.set, case.arm, case.category) for case in cases):
        group = [case for case in cases if (case.set, case.arm, case.category) == arm]
        tokens = sum(case.tokens or 0 for case in group) // len(group)
        for measure in group[0].values:
            mean = bootstrap([case.values[measure] for case in group], clusters_of(group))
            lines.append(f"| {', '.join(arm)} | {len(group)} | {measure} | {shown(mean)} | {tokens} |")
    missed = [f"- {case.set} {case.id} ({case.category}): {'; '.join(case.missed)}" for case in cases
              if case.missed and case.arm == "standard"]  # fmt: skip
    return "\n".join([*lines, "", *missed]) + "\n"
