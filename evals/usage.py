"""`engrain eval usage`: what citing what answered some questions does to others, and what reads pay for all of it."""

import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from evals.client import Client
from evals.datasets import Aim, Collection, Question
from evals.harness.arms import Arm, searched
from evals.harness.asking import Asking, close_part
from evals.harness.loading import load
from evals.harness.places import Place, joined
from evals.harness.run import read_collections
from evals.harness.server import served, wanted_server
from evals.metrics import Interval, compared, require_library
from evals.metrics.interval import RESAMPLES, SEED
from evals.options import Options
from evals.prepared import Prepared
from evals.reports.figures import clusters_of
from evals.reports.tables import signed
from evals.results import Case, Outcome, Part
from evals.runs import Journal
from evals.timing import Spread, spread

CROWD = 8
"""Users who cite in the strongest case, each in a session of its own per question."""
TIMED = 200
"""Questions at most for which times are compared."""
ROUNDS = 5
BEFORE, ARMS = "nobody cites", {"1 cites": 1, f"{CROWD} cite": CROWD}
_QUIET = {"boost_recent": False, "record_exposure": False}
_NAME = 120


@dataclass(frozen=True, slots=True)
class Cost:
    """What a search pays for the signal and for being recorded, in milliseconds over REST."""

    plain: Spread
    whole: Spread
    difference: Interval
    """The median of the differences, paired by question and round."""
    recording: Spread
    """The part in which the answer is queued, as the search itself measures it."""

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Read an object of JSON."""
        spreads = {name: Spread(**plain[name]) for name in ("plain", "whole", "recording")}
        return cls(**spreads, difference=Interval(**plain["difference"]))


def prepare(options: Options) -> Prepared:
    """Read the collections; every text becomes a note. An interrupted run keeps whole sets; that it was at begins anew.

    Raises:
        EngrainError: There is no data, or the server that is named does not answer or is to be asked by one user alone.
    """
    require_library()
    server = wanted_server(options, by_several=True)
    collections = [as_notes(collection) for collection in read_collections(options)]
    return Prepared(
        command={"sets": [each.name for each in collections], "limit": options.limit, **server.command},
        settings=server.settings,
        data={each.name: each.digest() for each in collections},
        measure=lambda journal: _measure(journal, options, collections),
        subject=server.subject,
    )


def as_notes(collection: Collection) -> Collection:
    """Make entities of all texts, which the whole organization may read and cite; what moves is their order."""
    texts = (replace(text, name=text.name or text.content[:_NAME].strip() or "untitled") for text in collection.texts)
    return replace(collection, door="search", entity_type="note", texts=tuple(texts), aim=Aim("nDCG@10"))


def split(questions: Sequence[Question]) -> dict[str, list[Question]]:
    """Draw half of the questions, whose answers get cited; the others are held out."""
    drawn = list(questions)
    random.Random(0).shuffle(drawn)  # noqa: S311 - a draw that anyone can repeat
    middle = len(drawn) // 2
    return {"cited": drawn[:middle], "held out": drawn[middle:]}


def _measure(journal: Journal, options: Options, collections: Sequence[Collection]) -> Outcome:
    details, costs = [], {}
    for collection in collections:
        halves = {q.id: half for half, questions in split(collection.questions).items() for q in questions}
        by_half = tuple(replace(question, category=halves[question.id]) for question in collection.questions)
        if not _is_kept(journal, collection.name):
            _one(journal, options, replace(collection, questions=by_half))
        kept = journal.note(_note(collection.name))
        if kept["timed"]:
            cost = costs[collection.name] = Cost.of(kept["timed"])
            details.append(_cost_lines(collection.name, cost))
    effects = _effects(journal, collections)
    text = "\n\n".join([*effects, *details])
    return Outcome(list(journal.cases.values()), list(journal.parts.values()), text, {"costs": _plain(costs)})


def _is_kept(journal: Journal, name: str) -> bool:
    """Whether an earlier try measured a set to its end."""
    return bool(journal.note(_note(name))) and all((name, arm) in journal.parts for arm in (BEFORE, *ARMS))


def _note(name: str) -> str:
    return f"cost-{name}"


def _one(journal: Journal, options: Options, collection: Collection) -> None:
    """Ask, cite as one user, ask, cite as a crowd, ask; then compare times with a server that knows of none of it.

    Times are those of servers that are started: one elsewhere has the signal or has it not. Citations of an earlier try
    would move what is asked before any: whatever it left of this set goes.
    """
    folder = journal.server_folder(collection.name)
    shutil.rmtree(folder, ignore_errors=True)
    journal.forget(collection.name)
    with served(folder, options.server, options.url) as target:
        places, loading_s = load(journal, target, "", collection)

        def ask(arm: str) -> None:
            wanted = Arm(arm, "", {"search": searched(_QUIET)})
            Asking(target.address, "", collection, wanted, places, 1).ask_all(journal)
            aim = collection.aim
            part = Part(collection.name, arm, collection.unit, len(collection.texts), aim.measure, loading_s=loading_s)
            close_part(journal, target, replace(part, note="every text is a note"))

        ask(BEFORE)
        answers = [journal.cases[collection.name, BEFORE, question.id] for question in collection.questions]
        useful = {case.id: [text for text in case.found if text in case.wanted] for case in answers
                  if case.category == "cited"}  # fmt: skip
        with Client(target.address) as client:
            crowds = {name: _crowd(client, place) for name, place in places.items()}
            cited = 0
            for arm, size in ARMS.items():
                _cite(client, collection, places, {name: crowd[cited:size] for name, crowd in crowds.items()}, useful)
                cited = size
                ask(arm)
    timed = None if options.url else asdict(_compare_times(folder, options, collection, places))
    journal.keep(_note(collection.name), {"timed": timed})


def _crowd(client: Client, place: Place) -> list[Place]:
    """Whoever stored the texts, and further members of that organization."""
    place.enter(client, "")
    return [place, *(joined(client) for _ in range(1, CROWD))]


def _cite(
    client: Client,
    collection: Collection,
    places: Mapping[str, Place],
    crowds: Mapping[str, Sequence[Place]],
    useful: Mapping[str, Sequence[str]],
) -> None:
    """Let everybody in the crowds cite what each question of the cited half found and is relevant."""
    for question in collection.questions:
        texts = useful.get(question.id, ())
        if not texts:
            continue
        records = {text: record for record, text in places[question.haystack].texts.items()}
        body = {"cited_ids": [records[text] for text in texts], "surface": "search", "session_key": _key(question.id)}
        for member in crowds[question.haystack]:
            member.enter(client, "")
            client.post("/api/memory/cite", body)


def _key(question_id: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in question_id)[:200]


def _compare_times(folder: Path, options: Options, collection: Collection, places: Mapping[str, Place]) -> Cost:
    """Ask a server with the signal, recording, and one without on a copy of the same data, in an order drawn anew."""
    draw = random.Random(1)  # noqa: S311 - as above
    asked = draw.sample(collection.questions, min(TIMED, len(collection.questions)))
    copy = folder.with_name(folder.name + "-without")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.lock", "*.sock"))
    times: dict[bool, list[float]] = {False: [], True: []}
    recording: list[float] = []
    with ExitStack() as stack:
        on = stack.enter_context(served(folder, options.server, None))
        off = stack.enter_context(served(copy, {**options.server, "ENGRAIN_USAGE_SIGNAL": "false"}, None))
        clients = {recorded: stack.enter_context(Client(one.address)) for recorded, one in ((True, on), (False, off))}
        tokens = {
            (recorded, name): place.token(clients[recorded], "") for recorded in clients
            for name, place in places.items()
        }  # fmt: skip
        for measured in (False, *[True] * ROUNDS):
            for question in asked if measured else asked[:1]:
                for recorded in draw.sample((False, True), 2):
                    client = clients[recorded]
                    client.present(tokens[recorded, question.haystack])
                    body = {"query": question.text, "include_raw_memory": False, "record_exposure": recorded}
                    answer = client.post("/api/search", body)
                    if measured:
                        times[recorded].append(client.took_ms)
                    if measured and recorded:
                        recording.append(answer["filters"]["stage_timings_ms"]["exposure"])
    differences = [whole - plain for plain, whole in zip(times[False], times[True], strict=True)]
    return Cost(spread(times[False]), spread(times[True]), median(differences), spread(recording))


def median(values: Sequence[float]) -> Interval:
    """The median and its 95 % percentile interval: a mean is carried away by whatever else the machine does."""
    drawn = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(np.median(np.asarray(values)[drawn], axis=1), (2.5, 97.5))
    return Interval(float(np.median(values)), float(low), float(high), len(values))


def _effects(journal: Journal, collections: Sequence[Collection]) -> list[str]:
    """One table: what became of each half, against nobody citing."""
    rows = []
    for collection in collections:
        for half in ("cited", "held out"):
            before = [case for case in _of(journal, collection.name, BEFORE) if case.category == half]
            for arm in ARMS:
                if before:
                    after = {case.id: case for case in _of(journal, collection.name, arm)}
                    rows.append(_effect_row(collection, half, arm, [(case, after[case.id]) for case in before]))
    head = "| set | questions | n | who | measure | nobody cites | difference [95 %] | better / worse / reordered |"
    return ["\n".join([head, "|" + "---|" * 8, *rows])]


def _of(journal: Journal, name: str, arm: str) -> Iterable[Case]:
    return (case for case in journal.cases.values() if (case.set, case.arm) == (name, arm))


def _effect_row(collection: Collection, half: str, arm: str, pairs: Sequence[tuple[Case, Case]]) -> str:
    measure = collection.aim.measure
    before, after = ([case.values[measure] for case in side] for side in zip(*pairs, strict=True))
    difference = compared(before, after, clusters_of([case for case, _ in pairs])).interval
    better, worse = (
        sum(b > a for a, b in zip(before, after, strict=True)),
        sum(b < a for a, b in zip(before, after, strict=True)),
    )
    reordered = sum(tuple(one.found) != tuple(other.found) for one, other in pairs)
    return (
        f"| {collection.name} | {half} | {len(pairs)} | {arm} | {measure} | {sum(before) / len(before):.3f} |"
        f" {signed(difference)} | {better} / {worse} / {reordered} |"
    )


def _cost_lines(name: str, cost: Cost) -> str:
    return (
        f"{name}: a search takes {cost.plain.p50:.2f} ms (p50), {cost.plain.p95:.2f} (p95) without the signal and"
        f" unrecorded, {cost.whole.p50:.2f} / {cost.whole.p95:.2f} with both, n = {cost.plain.n} each; median"
        f" difference {cost.difference.mean:+.3f} ms [{cost.difference.low:+.3f}, {cost.difference.high:+.3f}],"
        f" of which recording {cost.recording.p50:.3f} / {cost.recording.p95:.3f}."
    )


def _plain(costs: Mapping[str, Cost]) -> dict[str, Any]:
    return {name: asdict(cost) for name, cost in costs.items()}
