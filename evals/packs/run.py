"""Asks a server for every goal's pack, as it is and by ranks alone, and lays the figures out."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from evals.answers import ask_missing
from evals.digests import digest_of
from evals.harness.asking import close_part
from evals.harness.server import wanted_server
from evals.options import Options
from evals.packs.labels import Goal, read_goals, read_records
from evals.packs.scoring import Packed, PackScore, score_packs
from evals.packs.world import Settlement, World, settled
from evals.prepared import Prepared
from evals.reports.tables import shown
from evals.results import CHARACTERS_PER_TOKEN, Case, Outcome, Part
from evals.runs import Journal
from evals.timing import Spread, spread
from tools.retrieval.plan import Mode

NAME = "packs"
MODES: tuple[Mode, ...] = ("fast", "naive")


def prepare(options: Options) -> Prepared:
    """Read the records and the goals. Measuring takes about a minute.

    Raises:
        EngrainError: The server that is named does not answer, or is to be asked by one user alone.
    """
    data = {NAME: digest_of([*read_goals(), *read_records()])}
    server = wanted_server(options, by_several=True)
    return Prepared(server.command, server.settings, data, partial(_measure, options=options), server.subject)


def _measure(journal: Journal, options: Options) -> Outcome:
    if wanted := [mode for mode in MODES if (NAME, mode) not in journal.parts]:
        with settled(journal, NAME, options) as settlement:
            _ask(journal, settlement, wanted)
    packs = {mode: [_kept(journal, mode, goal) for goal in read_goals()] for mode in MODES}
    document: dict[str, object] = {mode: _plain(found) for mode, found in packs.items()}
    return Outcome(list(journal.cases.values()), list(journal.parts.values()), markdown(packs), document)


def _ask(journal: Journal, settlement: Settlement, modes: Sequence[Mode]) -> None:
    """Have the packs of all goals made, as they are and by ranks alone."""
    goals, world = read_goals(), settlement.world
    texts = {record.key: record.name for record in world.records}
    _packed(world, goals[0], "fast")

    def ask(goal: Goal, mode: Mode) -> tuple[Case, Mapping[str, Any]]:
        pack = _packed(world, goal, mode)
        return _case(pack, mode, texts), {"characters": pack.characters}

    for mode in modes:
        ask_missing(journal, {(NAME, mode, goal.id): partial(ask, goal, mode) for goal in goals})
        part = Part(NAME, mode, "record", len(texts), "recall", loading_s=settlement.loading_s)
        close_part(journal, settlement.target, part)


def _kept(journal: Journal, mode: Mode, goal: Goal) -> Packed:
    case = journal.cases[NAME, mode, goal.id]
    return Packed(goal, tuple(case.found), journal.beside(case.key)["characters"], case.took_ms or 0.0)


def _case(pack: Packed, mode: Mode, texts: Mapping[str, str]) -> Case:
    return Case(
        set=NAME,
        arm=mode,
        unit="record",
        id=pack.goal.id,
        values={
            "recall": pack.recall,
            "nothing wrong": float(not pack.wrong),
            "nothing off topic": float(not pack.off_topic),
        },
        category=pack.goal.split,
        question=pack.goal.goal,
        wanted=dict.fromkeys(sorted(pack.goal.must), 1),
        found=pack.keys,
        took_ms=pack.took_ms,
        tokens=pack.characters // CHARACTERS_PER_TOKEN,
        best=[texts.get(key, key) for key in pack.keys[:3]],
        missed=[texts.get(key, key) for key in pack.missed],
    )


def _packed(world: World, goal: Goal, mode: Mode) -> Packed:
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
    return Packed(goal, found, len(pack["markdown"]), client.took_ms)


def _plain(packs: Sequence[Packed]) -> dict[str, object]:
    return {
        "scores": {name: dataclasses.asdict(score) for name, score in _scores(packs).items()},
        "goals": [
            {
                "id": pack.goal.id, "keys": pack.keys, "missed": pack.missed, "wrong": pack.wrong,
                "off_topic": pack.off_topic, "characters": pack.characters,
            }
            for pack in packs
        ],
    }  # fmt: skip


def _scores(packs: Sequence[Packed]) -> dict[str, PackScore]:
    """All of them, then by split, by layer and by intent."""
    groups: dict[str, list[Packed]] = {"all": list(packs)}
    for name in ("split", "layer", "intent"):
        for pack in packs:
            groups.setdefault(f"{name} {getattr(pack.goal, name)}", []).append(pack)
    return {name: score_packs(group) for name, group in groups.items()}


def markdown(packs: Mapping[Mode, Sequence[Packed]]) -> str:
    """Lay the figures out: the packs as they are, group by group, and those by ranks alone; then what was missed."""
    lines = [
        "| packs | n | recall of what must be in | must be in | with what must not be in | with what is off topic"
        " | items | characters, mean | longest |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(name, score) for name, score in _scores(packs["fast"]).items()),
        *(
            _row(f"naive, {name}", score)
            for name, score in _scores(packs["naive"]).items()
            if name == "all" or name.startswith("split")
        ),
        "",
        _times(spread([pack.took_ms for pack in packs["fast"]])),
        "",
        *_faults(packs["fast"]),
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, score: PackScore) -> str:
    recall = score.recall
    cells = (
        name,
        score.goals,
        shown(recall),
        f"{score.must_found} of {score.must}",
        f"{score.with_wrong} of {score.goals}",
        f"{score.with_off_topic} of {score.goals} ({score.off_topic_found} of {score.off_topic} records)",
        score.items,
        f"{score.characters:.0f}",
        score.longest,
    )
    return f"| {' | '.join(map(str, cells))} |"


def _times(took_ms: Spread) -> str:
    return f"A pack takes {took_ms.p50:.0f} ms (p50), {took_ms.p95:.0f} ms (p95) over so few records, n = {took_ms.n}."


def _faults(packs: Iterable[Packed]) -> list[str]:
    return [
        f"- {pack.goal.id} ({pack.goal.split}): "
        + "; ".join(
            f"{word} {', '.join(keys)}"
            for word, keys in (("missed", pack.missed), ("wrong", pack.wrong), ("off topic", pack.off_topic))
            if keys
        )
        for pack in packs
        if pack.missed or pack.wrong or pack.off_topic
    ]
