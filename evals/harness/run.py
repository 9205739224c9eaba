"""The retrieval suite: labelled collections, through the arms that were chosen, against a server."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from evals.datasets import READERS, Collection, read_own
from evals.datasets.collection import UNREADABLE
from evals.harness.arms import Arm, chosen
from evals.harness.asking import Asking, close_part
from evals.harness.loading import load
from evals.harness.server import Target, served, wanted_server
from evals.metrics import require_library
from evals.options import Options, default_data
from evals.prepared import Prepared
from evals.results import NOTE_BREAK, SEPARATION, Outcome, Part
from evals.runs import Journal
from evals.runs.record import checkout, embedding_model
from stores.errors import EngrainError, ValidationFailed
from tools.parsing import refuse_unstorable

P50_LIMIT_MS = 30.0
"""What a query may take, at the median, over REST on two cores."""


def prepare(options: Options) -> Prepared:
    """Read the collections and choose the arms; nothing is started yet.

    Raises:
        EngrainError: There is no such set or arm, a set is damaged, or no server answers at the address.
    """
    require_library()
    arms = chosen(options.arms, url=options.url)
    collections = read_collections(options)
    names = [collection.name for collection in collections]
    server = wanted_server(options)
    if unasked := [each.name for each in collections if not any(_asked_of(each, arms))]:
        raise EngrainError(
            f"None of the arms that were named asks {', '.join(unasked)}: an arm asks by recall or by search, as a set"
            " says. Name another --arm, or leave the set out."
        )
    return Prepared(
        command={"sets": names, "arms": [arm.name for arm in arms], "limit": options.limit, **server.command},
        settings={"concurrency": options.concurrency, **_own_aims(collections), **server.settings},
        data={each.name: each.digest() for collection in collections for each in collection.halves},
        measure=lambda journal: _measure(journal, options, collections, arms),
        subject=server.subject or checkout(_models(options, arms)),
    )


def _models(options: Options, arms: Sequence[Arm]) -> str:
    """What embeds; where arms differ in it, with the arms."""
    found: dict[str, list[str]] = {}
    for arm in arms:
        found.setdefault(embedding_model(_of_arm(options, arm.environ)), []).append(arm.name)
    return (
        next(iter(found)) if len(found) == 1 else "; ".join(f"{model}: {', '.join(of)}" for model, of in found.items())
    )


def _own_aims(collections: Sequence[Collection]) -> dict[str, Any]:
    """What sets of one's own are judged by, which their files say: an interrupted run does not go on by another."""
    aims = {each.name: asdict(each.aim) for each in collections if each.name not in READERS}
    return {"aims": aims} if aims else {}


def _of_arm(options: Options, environ: Mapping[str, str]) -> dict[str, str]:
    return {**options.server, **environ}


def read_collections(options: Options) -> list[Collection]:
    """Read the sets that are wanted, or a sample of each.

    Raises:
        EngrainError: There is none, one that was named is missing, or one is damaged.
    """
    found = [read_own(Path(name)) if _is_file(name) else _public(name, options) for name in _names(options)]
    names = [collection.name for collection in found]
    if len(set(names)) < len(names):
        raise EngrainError(f"Two of the sets have one name: {', '.join(names)}.")
    return [each if options.limit is None else each.sample(options.limit) for each in found]


def _is_file(name: str) -> bool:
    return name.endswith((".jsonl", ".jsonl.gz"))


def _names(options: Options) -> Sequence[str]:
    unknown = [name for name in options.sets if name not in READERS and not _is_file(name)]
    if unknown:
        raise EngrainError(
            f"There is no data set {', '.join(unknown)}; there are {', '.join(READERS)}, and files of JSON Lines"
            " (docs/evaluation.md) by their path."
        )
    if options.sets:
        return list(dict.fromkeys(options.sets))
    data = _data(options)
    found = [name for name, (folder, _) in READERS.items() if (data / folder).is_dir()]
    if not found:
        raise EngrainError(f"{data} holds no folder {' or '.join(sorted({folder for folder, _ in READERS.values()}))}.")
    return found


def _data(options: Options) -> Path:
    data = options.data or default_data()
    if data is None or not data.is_dir():
        where = f"{data} is no folder" if data else "no folder was named"
        folders = ", ".join(dict.fromkeys(folder for folder, _ in READERS.values()))
        raise EngrainError(
            f"There is no labelled data: {where}. Give --data PATH with one of the subfolders {folders}, or --set with"
            " a file of your own."
        )
    return data


def _public(name: str, options: Options) -> Collection:
    folder, reader = READERS[name]
    path = _data(options) / folder
    if not path.is_dir():
        raise EngrainError(f"{path.parent} holds no folder {folder}.")
    try:
        found = reader(path)
    except UNREADABLE as error:
        raise EngrainError(f"{path} cannot be read as {name}: {type(error).__name__} {error}.") from error
    if not found.texts or not found.questions:
        raise EngrainError(f"{path} holds {len(found.texts)} texts and {len(found.questions)} questions of {name}.")
    for what, words in _words(found):
        try:
            refuse_unstorable(words, what)
        except ValidationFailed as error:
            raise EngrainError(f"{path} as {name}: {error.message}") from error
        if not words.strip():
            raise EngrainError(f"{path} as {name}: {what} is empty, which no server takes.")
    return found


def _words(collection: Collection) -> Iterator[tuple[str, str]]:
    """What a server is told of a public set, by what it is; files of one's own are checked line by line."""
    for text in collection.texts:
        yield f"the text {text.id!r}", text.name + text.content
    for question in (*collection.questions, *collection.unanswered):
        yield f"the question {question.id!r}", question.text


def _measure(journal: Journal, options: Options, collections: Sequence[Collection], arms: Sequence[Arm]) -> Outcome:
    for collection in collections:
        for number, (environ, group) in enumerate(groupby(_asked_of(collection, arms), key=lambda arm: arm.environ)):
            wanted = [arm for arm in group if any(_is_missing(journal, each, arm) for each in collection.halves)]
            if not wanted:
                continue
            folder = journal.server_folder(collection.name)
            with served(folder, _of_arm(options, environ), options.url) as target:
                # The first server stores everything; those after it find it on disk.
                _ask(journal, options, collection, wanted, target, loads=number == 0)
    parts = [journal.parts[key] for key in journal.parts]
    return Outcome(list(journal.cases.values()), parts, document={"concurrency": options.concurrency})


def _asked_of(collection: Collection, arms: Sequence[Arm]) -> Iterator[Arm]:
    return (arm for arm in arms if collection.door in arm.doors)


def _is_missing(journal: Journal, collection: Collection, arm: Arm) -> bool:
    """Whether it has to be asked yet. Only scores that compare between questions tell whether something answers one."""
    is_asked = arm.scores or collection.aim.measure != SEPARATION
    return is_asked and (collection.name, arm.name) not in journal.parts


def _ask(
    journal: Journal, options: Options, collection: Collection, arms: Sequence[Arm], target: Target, *, loads: bool
) -> None:
    places, loading_s = load(journal, target, options.key, collection)
    for arm in arms:
        answered: list[float] = []
        for half in collection.halves:
            is_first = half is collection
            # Of a sample all may be apart that have an answer: then there is nothing to hold the others against.
            if _is_missing(journal, half, arm) and (is_first or answered):
                Asking(target.address, options.key, half, arm, places, options.concurrency, answered).ask_all(journal)
                close_part(journal, target, _part(options, half, arm, loading_s if loads and is_first else None))
            answered += _best_scores(journal, half, arm)


def _part(options: Options, collection: Collection, arm: Arm, loading_s: float | None) -> Part:
    return Part(
        set=collection.name,
        arm=arm.name,
        unit=collection.unit,
        texts=len(collection.texts),
        measure=collection.aim.measure,
        floor=None if collection.is_sample else collection.aim.floor,
        goal=None if collection.is_sample else collection.aim.goal,
        p50_limit_ms=P50_LIMIT_MS if options.concurrency == 1 and not collection.is_sample else None,
        loading_s=loading_s,
        note=_note(collection, arm),
    )


def _best_scores(journal: Journal, collection: Collection, arm: Arm) -> list[float]:
    """Those of the questions that are in the headline."""
    cases = [case for key, case in journal.cases.items() if key[:2] == (collection.name, arm.name)]
    return [case.score for case in cases if case.score is not None and not case.apart]


def _note(collection: Collection, arm: Arm) -> str:
    sample = ["on a sample"] if collection.is_sample else []
    files = [f"read from {' and '.join(collection.files)}"] if collection.files else []
    return NOTE_BREAK.join([arm.summary, *sample, *files, *collection.remarks])
