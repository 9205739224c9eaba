"""Has documents written of the records of the context packs, over REST, and lays the figures out."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evals.client import Client
from evals.harness.server import served
from evals.metrics import bootstrap
from evals.options import Options
from evals.packs.labels import Goal, Person, read_goals, read_records
from evals.packs.world import World, filled
from evals.prepared import Prepared
from evals.results import CHARACTERS_PER_TOKEN, Case, Outcome, Part
from evals.runs import Journal
from evals.synthesis.labels import SectionRequest, read_requests
from evals.synthesis.scoring import Drafted, borne_out, score

DRAFT = "/api/synthesis/draft"
DEPTHS = ("brief", "standard", "deep")
GOALS, SECTIONS = "goals", "sections"


def prepare(options: Options) -> Prepared:
    """Read the records, goals and requests. Measuring takes some minutes and begins anew after an interruption."""
    goals, records, requests = read_goals(), read_records(), read_requests()
    labels = [(goal.id, goal.goal, sorted(goal.must)) for goal in goals]
    sections = [(each.id, section.title, sorted(section.must)) for each in requests for section in each.sections]
    sha = hashlib.sha256(repr((labels, sections, records)).encode())
    command = {"name": options.name, "limit": options.limit}
    settings = {"server": dict(options.server)}
    return Prepared(command, settings, {"synthesis": sha.hexdigest()}, lambda journal: _measure(journal, options))


def _measure(journal: Journal, options: Options) -> Outcome:
    goals, requests = read_goals()[: options.limit], read_requests()[: options.limit]
    folder = journal.server_folder("synthesis")
    records = read_records()
    shutil.rmtree(folder, ignore_errors=True)
    with served(folder, options.server, None) as target, Client(target.address) as client:
        world = filled(target, client, records)
        _draft(world, "ada", {"goal": goals[0].goal})
        cases = [case for depth in DEPTHS for case in _of_goals(world, goals, depth)]
        cases += [_of_sections(world, request) for request in requests]
    count = len(world.ids)
    parts = [Part(GOALS, depth, "record", count, "needed cited", note="documentation") for depth in DEPTHS]
    parts.append(Part(SECTIONS, "standard", "record", count, "needed cited", note="requested sections"))
    return Outcome(cases, parts, markdown(cases), {})


def _draft(world: World, person: Person, body: Mapping[str, Any]) -> Drafted:
    world.client.present(world.tokens[person])
    run = world.client.post(DRAFT, {"output_format": "json", **body})
    artifact, keys = run["artifact"], world.keys
    sections = artifact["json_payload"]["sections"]
    texts = {world.ids[record.key]: f"{record.name}\n{record.content}" for record in read_records()}
    supported, statements = borne_out([each for section in sections for each in section["statements"]], texts)
    titles = {section["section_id"]: section["title"] for section in sections}
    return Drafted(
        cited=[keys.get(each, each) for each in artifact["source_ids"]],
        supported=supported,
        statements=statements,
        gaps=frozenset(titles[gap["section_id"]] for gap in run["verification"]["gaps"]),
        by_section={section["title"]: [keys.get(each, each) for each in section["source_ids"]] for section in sections},
        characters=len(artifact["markdown"]),
        took_ms=world.client.took_ms,
    )


def _of_goals(world: World, goals: Sequence[Goal], depth: str) -> Iterator[Case]:
    names = {record.key: record.name for record in read_records()}
    for goal in goals:
        project = {"project": world.ids[goal.project]} if goal.project is not None else {}
        drafted = _draft(world, goal.asker, {"goal": goal.goal, "depth": depth, **project})
        yield Case(
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
            missed=[names[key] for key in sorted(goal.must.difference(drafted.cited))],
        )


def _of_sections(world: World, request: SectionRequest) -> Case:
    wanted = [{"title": each.title, "prompt": each.prompt} for each in request.sections]
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
        missed=[f"{title}: {key}" for title, key in sorted(must - cited)],
    )


def markdown(cases: Sequence[Case]) -> str:
    """Lay the figures out: one row for each set, depth and split."""
    lines = ["| documents | n | measure | mean | tokens |", "|---|---|---|---|---|"]
    for arm in dict.fromkeys((case.set, case.arm, case.category) for case in cases):
        group = [case for case in cases if (case.set, case.arm, case.category) == arm]
        tokens = sum(case.tokens or 0 for case in group) // len(group)
        for measure in group[0].values:
            mean = bootstrap([case.values[measure] for case in group])
            figure = f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]"
            lines.append(f"| {', '.join(arm)} | {len(group)} | {measure} | {figure} | {tokens} |")
    missed = [f"- {case.set} {case.id} ({case.category}): {'; '.join(case.missed)}" for case in cases
              if case.missed and case.arm == "standard"]  # fmt: skip
    return "\n".join([*lines, "", *missed]) + "\n"
