"""Stores the commits as of their days, asks by three arms, and says what relations and recency change."""

import hashlib
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evals.annals import Annals
from evals.client import Client
from evals.datasets import Collection, Text
from evals.datasets.collection import UNREADABLE
from evals.harness.arms import Arm, searched
from evals.harness.asking import Asking, close_part
from evals.harness.places import Place, opened
from evals.harness.server import Target, served, wanted_server
from evals.harness.waiting import until_whole
from evals.history.commits import Project, as_artifact, as_note, read_project
from evals.history.questions import AIMS, questions_of
from evals.logs import PATTERN, log_folder
from evals.metrics import compared, require_library
from evals.options import Options
from evals.prepared import Prepared
from evals.progress import Advance, progress
from evals.reports.figures import clusters_of
from evals.reports.tables import signed
from evals.results import NOTE_BREAK, Outcome, Part
from evals.runs import Journal
from evals.runs.journal import LOADING
from stores.errors import EngrainError

NAME, WHOLE = "history", "fast"
WITHOUT: Mapping[str, Mapping[str, bool]] = {
    "without-graph": {"use_enhanced": False},
    "without-recency": {"boost_recent": False},
}
"""Arms that leave one part out."""
_LOADING = f"{LOADING}-{NAME}"


def prepare(options: Options) -> Prepared:
    """Read the logs and make the questions. Measuring takes some minutes.

    Raises:
        EngrainError: There is no log, one is damaged, two are of one project, nothing can be asked of them, or the
            server that is named does not answer.
    """
    require_library()
    logs = _logs(options)
    projects = [_read(log) for log in logs]
    names = [project.name for project in projects]
    if len(set(names)) < len(names):
        raise EngrainError(f"Two of the logs are of one project: {', '.join(names)}. Rename one of the files.")
    collections = _collections(projects)
    server = wanted_server(options)
    return Prepared(
        command=server.command,
        settings=server.settings,
        data={log.name: hashlib.sha256(log.read_bytes()).hexdigest() for log in logs},
        measure=lambda journal: _measure(journal, options, projects, collections),
        subject=server.subject,
    )


def _logs(options: Options) -> list[Path]:
    folder = log_folder(options)
    found = sorted(folder.glob(PATTERN)) if folder is not None else []
    if not found:
        where = f"{folder} has no {PATTERN}" if folder is not None else "no folder was named"
        raise EngrainError(f"There are no logs to ask about: {where}. Give --data PATH.")
    return found


def _read(log: Path) -> Project:
    try:
        return read_project(log)
    except UNREADABLE as error:
        raise EngrainError(f"{log} cannot be read as a log: {type(error).__name__} {error}.") from error


def _collections(projects: Sequence[Project]) -> list[Collection]:
    """One for each kind of question, as they are judged by different measures; the records are the same."""
    texts = [Text(commit.sha, project.name, commit.subject) for project in projects for commit in project.commits]
    texts += [Text(path, project.name, path) for project in projects for path in project.files]
    asked = [questions_of(project) for project in projects]
    made = [
        Collection(f"{NAME} {kind}", "commit", "search", tuple(texts), tuple(q for by in asked for q in by[kind]), aim)
        for kind, aim in AIMS.items()
    ]
    if not any(collection.questions for collection in made):
        raise EngrainError("Nothing can be asked about these logs: no file was changed twice, and no body says much.")
    return [collection for collection in made if collection.questions]


def _measure(
    journal: Journal, options: Options, projects: Sequence[Project], collections: Sequence[Collection]
) -> Outcome:
    folder, note = journal.server_folder(NAME), f"places-{NAME}"
    places = {name: Place.of(plain) for name, plain in journal.note(note).items()}
    is_new = not places
    if is_new:
        shutil.rmtree(folder, ignore_errors=True)
    with served(folder, options.server, options.url) as target:
        start = time.perf_counter()
        if is_new:
            places = _stored(target, options.key, projects)
            journal.keep(note, {name: place.plain() for name, place in places.items()})
        until_whole(target, options.key, places, NAME)
        if is_new:
            # Where this is interrupted, the time that it took is not known.
            journal.keep(_LOADING, {"seconds": time.perf_counter() - start})
        for collection in collections:
            _ask(journal, target, options.key, collection, places)
    return Outcome(list(journal.cases.values()), list(journal.parts.values()), _effects(journal, collections))


def _stored(target: Target, key: str, projects: Sequence[Project]) -> dict[str, Place]:
    total = sum(len(project.commits) + len(project.files) for project in projects)
    places = {}
    with progress(f"{NAME}: storing records", total) as advance, Client(target.address) as client:
        for project in projects:
            places[project.name] = _kept(target, client, key, project, advance)
    return places


def _kept(target: Target, client: Client, key: str, project: Project, advance: Advance) -> Place:
    """Give a project a place of its own: each day first the files that are new, then the commits in their order."""
    place, files = opened(target, client, key), project.files
    annals = Annals(metadata=place.metadata)
    for days_ago, commits in project.days:
        touched = dict.fromkeys(path for commit in commits for path in commit.files if path in files)
        new = [(path, as_artifact(path)) for path in touched if path not in annals.ids]
        annals.keep(client, days_ago, new)
        annals.keep(client, days_ago, [(commit.sha, as_note(commit, files)) for commit in commits])
        advance(len(new) + len(commits))
    return replace(place, texts={record_id: key for key, record_id in annals.ids.items()})


def _ask(journal: Journal, target: Target, key: str, collection: Collection, places: Mapping[str, Place]) -> None:
    for name, asked in {WHOLE: {}, **WITHOUT}.items():
        if (collection.name, name) in journal.parts:
            continue
        door = searched({"record_exposure": False, **asked}, text="name")
        Asking(target.address, key, collection, Arm(name, "", {"search": door}), places, 1).ask_all(journal)
        part = Part(collection.name, name, collection.unit, len(collection.texts), collection.aim.measure)
        seconds = journal.note(_LOADING).get("seconds")
        close_part(journal, target, replace(part, loading_s=seconds, note=_note(asked)))


def _note(asked: Mapping[str, bool]) -> str:
    how = [f"{name}={str(value).lower()}" for name, value in asked.items()] or ["as any client gets it"]
    return NOTE_BREAK.join([*how, "commits are notes and files artifacts, found by search"])


def _effects(journal: Journal, collections: Sequence[Collection]) -> str:
    """One row for each kind of question and part: the search as it is against the one without the part."""
    rows = []
    for collection in collections:
        whole = [case for case in journal.cases.values() if (case.set, case.arm) == (collection.name, WHOLE)]
        measure = collection.aim.measure
        after = [case.values[measure] for case in whole]
        for name in WITHOUT:
            before = [journal.cases[case.set, name, case.id].values[measure] for case in whole]
            pairs = list(zip(before, after, strict=True))
            cells = (
                collection.name, str(len(whole)), measure, name, f"{sum(before) / len(before):.3f}",
                signed(compared(before, after, clusters_of(whole)).interval),
                f"{sum(b < a for b, a in pairs)} / {sum(b > a for b, a in pairs)}",
            )  # fmt: skip
            rows.append(f"| {' | '.join(cells)} |")
    head = "| questions | n | measure | compared with | there | difference [95 %] | better / worse |"
    return "\n".join([head, "|" + "---|" * 7, *rows]) + "\n"
