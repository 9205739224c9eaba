"""Ask for the pack of every goal, with the default selection and by rank fusion alone."""

from functools import partial
from typing import Any

from evals.datasets.collection import digest_of
from evals.harness.asking import ask_part
from evals.options import Options
from evals.packs.labels import Goal, read_goals, read_records
from evals.packs.world import World, settled
from evals.results import CHARACTERS_PER_TOKEN, Case, Part
from evals.runs import Journal, Prepared
from tools.retrieval.plan import Mode

NAME = "packs"
MODES: tuple[Mode, ...] = ("fast", "naive")


def prepare(options: Options) -> Prepared:
    """Read the labels; measuring takes about a minute."""
    data = {NAME: digest_of([*read_goals(), *read_records()])}
    return Prepared(data, partial(_measure, options=options))


def _measure(journal: Journal, options: Options) -> None:
    goals = read_goals()
    with settled(journal, options) as (world, server):
        _case(world, goals[0], "fast")
        for mode in MODES:
            part = Part(NAME, mode, "record", len(world.ids), "recall")
            ask_part(journal, server, part, map(partial(_case, world, mode=mode), goals))


def _case(world: World, goal: Goal, mode: Mode) -> Case:
    body: dict[str, Any] = {
        "goal": goal.goal,
        "intent": goal.intent,
        "layer": goal.layer,
        "limit": 24 if goal.layer == "recall" else 50,
        "record_exposure": False,
    }
    if goal.project is not None:
        body["project"] = world.ids[goal.project]
    if mode == "naive":
        body["evidence"] = {"retrieval_mode": mode, "limit": 1}
    client = world.clients[goal.asker]
    pack = client.post("/api/context/pack", body)
    found = tuple(world.keys[item["id"]] for section in pack["sections"] for item in section["items"])
    return Case(
        set=NAME,
        arm=mode,
        unit="record",
        id=goal.id,
        values={
            "recall": len(goal.must.intersection(found)) / len(goal.must),
            "nothing wrong": float(goal.must_not.isdisjoint(found)),
            "nothing off topic": float(goal.off_topic.isdisjoint(found)),
        },
        category=goal.split,
        question=goal.goal,
        wanted=dict.fromkeys(sorted(goal.must), 1),
        found=found,
        took_ms=client.took_ms,
        tokens=len(pack["markdown"]) // CHARACTERS_PER_TOKEN,
        best=world.named(found[:3]),
        missed=world.named(sorted(goal.must.difference(found))),
    )
