"""The retrieval suite."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path

from evals.client import Client, progress
from evals.datasets import READERS, Collection, read_own
from evals.datasets.collection import readable
from evals.harness.arms import Arm, chosen
from evals.harness.server import Place, load, served
from evals.metrics import measured, require_library, unanswered_values
from evals.runs import Case, Journal, Options, Part, Prepared, default_data
from stores.errors import EngrainError
from tools.runtime.launch import ServerProcess

P50_LIMIT_MS = 30.0
"""Over REST, on two cores."""
_WARM_UP = "hello"
CHARACTERS_PER_TOKEN = 4
_SHOWN, _BEGINNING = 3, 160


def prepare(options: Options) -> Prepared:
    """Read the collections and choose the arms, or raise EngrainError."""
    require_library()
    arms = chosen(options.arms)
    collections = read_collections(options)
    if unasked := [each.name for each in collections if not any(_asked_of(each, arms))]:
        raise EngrainError(f"None of the arms that you named asks {', '.join(unasked)}. Name another --arm.")
    return Prepared(
        data={half.name: half.digest() for collection in collections for half in collection.halves},
        measure=lambda journal: _measure(journal, options, collections, arms),
        command={
            "sets": [collection.name for collection in collections], "arms": [arm.name for arm in arms],
            "limit": options.limit, "without_speakers": options.without_speakers,
        },
        settings={"aims": {each.name: asdict(each.aim) for each in collections}},
    )  # fmt: skip


def read_collections(options: Options) -> list[Collection]:
    """Read the wanted sets, or a sample of each, or raise EngrainError."""
    data = options.data or default_data() or Path()
    there = [name for name, (folder, _) in READERS.items() if (data / folder).is_dir()]
    if not (options.sets or there):
        folders = " or ".join(sorted({folder for folder, _ in READERS.values()}))
        raise EngrainError(f"{data} holds no folder {folders}. Give --data PATH, or --set with a file of your own.")
    found = [_read(name, data) for name in dict.fromkeys(options.sets or there)]
    found = [each.without_speakers() for each in found] if options.without_speakers else found
    names = [collection.name for collection in found]
    if len(set(names)) < len(names):
        raise EngrainError(f"Two of the sets have one name: {', '.join(names)}.")
    return [each if options.limit is None else each.sample(options.limit) for each in found]


def _read(name: str, data: Path) -> Collection:
    if name.endswith((".jsonl", ".jsonl.gz")):
        return read_own(Path(name))
    if name not in READERS:
        raise EngrainError(
            f"There is no data set {name}; there are {', '.join(READERS)}, and files of JSON Lines"
            " (docs/guide/evaluation.md) by their path."
        )
    folder, reader = READERS[name]
    path = data / folder
    if not path.is_dir():
        raise EngrainError(f"{data} holds no folder {folder}. Give --data PATH.")
    with readable(path, name):
        found = reader(path)
    if not found.texts or not found.questions:
        raise EngrainError(f"{path} holds {len(found.texts)} texts and {len(found.questions)} questions of {name}.")
    return found


def _measure(journal: Journal, options: Options, collections: Sequence[Collection], arms: Sequence[Arm]) -> None:
    for collection in collections:
        places: dict[str, Place] = {}
        with journal.server_data() as folder:
            # Arms with the server's own settings come first; later servers find everything stored.
            for environ, group in groupby(_asked_of(collection, arms), key=lambda arm: arm.environ):
                with served(Path(folder), {**options.server, **environ}) as server:
                    places = places or load(server.address, collection)
                    _ask(journal, collection, list(group), places, server)


def _asked_of(collection: Collection, arms: Sequence[Arm]) -> Iterator[Arm]:
    return (arm for arm in arms if collection.door in arm.doors)


def _ask(
    journal: Journal, collection: Collection, arms: Sequence[Arm], places: Mapping[str, Place], server: ServerProcess
) -> None:
    progress(f"{collection.name}: indexing")
    with Client(server.address) as client:
        client.until_indexed()
    for arm in arms:
        answered: list[float] = []
        for half in collection.halves:
            # In a sample, all questions with an answer may be apart.
            if half is collection or answered:
                cases = _cases(server.address, half, arm, places, answered)
                journal.add(_part(half, arm), cases, server.process.pid)
            answered = [
                case.score
                for case in journal.cases
                if (case.set, case.arm, case.apart) == (half.name, arm.name, False) and case.score is not None
            ]


def _cases(
    address: str, collection: Collection, arm: Arm, places: Mapping[str, Place], answered: Sequence[float]
) -> Iterator[Case]:
    """Ask the questions of a collection; `answered` are scores that those without an answer are compared with."""
    texts = {(text.haystack, text.id): text.content for text in collection.texts}
    warm = set[str]()
    progress(f"{collection.name}: asking {len(collection.questions)} questions, {arm.name}")
    with Client(address) as client:
        # One haystack after the other: a server keeps only some organizations open.
        for question in sorted(collection.questions, key=lambda question: question.haystack):
            place = places[question.haystack]
            client.present(place.token)
            if question.haystack not in warm:
                warm.add(question.haystack)
                arm.ask(client, collection, replace(question, text=_WARM_UP))
            answer = arm.ask(client, collection, question)
            score = answer.score if arm.scores else None
            found = tuple(place.texts.get(record_id, record_id) for record_id in answer.ids)
            is_unanswered = score is not None and not question.grades
            values = unanswered_values(score or 0.0, answered) if is_unanswered else measured(found, question.grades)
            missed = [texts.get((question.haystack, each), "") for each in question.grades if each not in found]
            yield Case(
                collection.name, arm.name, collection.unit, question.id, values, question.cluster, question.category,
                question.apart, question=question.text, wanted=question.grades, found=found, took_ms=answer.took_ms,
                tokens=round(sum(map(len, answer.texts)) / CHARACTERS_PER_TOKEN),
                best=[text[:_BEGINNING] for text in answer.texts[:_SHOWN]],
                missed=[text[:_BEGINNING] for text in missed[:_SHOWN]], score=score,
            )  # fmt: skip


def _part(collection: Collection, arm: Arm) -> Part:
    aim, is_sample = collection.aim, collection.is_sample
    note = "; ".join([arm.summary, *(["on a sample"] if is_sample else []), *collection.remarks])
    part = Part(collection.name, arm.name, collection.unit, len(collection.texts), aim.measure, note=note)
    return part if is_sample else replace(part, floor=aim.floor, goal=aim.goal, p50_limit_ms=P50_LIMIT_MS)
