"""Store commits as of their days; ask with and without relations and recency."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evals.client import Client, progress
from evals.datasets import Collection, Text
from evals.datasets.collection import readable
from evals.dated_records import PATTERN, DatedRecords, log_folder
from evals.harness.arms import Arm, searched
from evals.harness.asking import Asking, ask_part
from evals.harness.server import Place, opened, served
from evals.history.commits import Project, as_artifact, as_note, read_project
from evals.history.questions import AIMS, questions_of
from evals.metrics import require_library
from evals.options import Options
from evals.results import Part
from evals.runs import Journal, Prepared
from stores.errors import EngrainError

NAME = "history"
ARMS: Mapping[str, Mapping[str, bool]] = {
    "fast": {},
    "without-graph": {"use_enhanced": False},
    "without-recency": {"boost_recent": False},
}


def prepare(options: Options) -> Prepared:
    """Read the logs and make the questions; measuring takes some minutes.

    Raises:
        EngrainError: There is no log, or it is damaged or yields no question.
    """
    require_library()
    folder = log_folder(options)
    logs = sorted(folder.glob(PATTERN)) if folder is not None else []
    if not logs:
        raise EngrainError(f"There are no logs {PATTERN} in {folder or 'shared/data'}. Give --data PATH.")
    projects = []
    for log in logs:
        with readable(log, "a log"):
            projects.append(read_project(log))
    collections = _collections(projects)
    return Prepared(
        data={log.name: hashlib.sha256(log.read_bytes()).hexdigest() for log in logs},
        measure=lambda journal: _measure(journal, options, projects, collections),
    )


def _collections(projects: Sequence[Project]) -> list[Collection]:
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
) -> None:
    with (
        journal.server_data() as folder,
        served(Path(folder), options.server) as server,
        Client(server.address) as client,
    ):
        progress(f"{NAME}: storing {len(collections[0].texts)} records")
        places = {project.name: _stored(client, project) for project in projects}
        client.until_indexed()
        for collection in collections:
            for name, body in ARMS.items():
                arm = Arm(name, "", {"search": searched({"record_exposure": False, **body}, text="name")})
                asking = Asking(server.address, collection, arm, places)
                ask_part(journal, server, _part(collection, name, body), asking.cases())


def _stored(client: Client, project: Project) -> Place:
    place, files, records = opened(client), project.files, DatedRecords()
    for days_ago, commits in project.days:
        touched = dict.fromkeys(path for commit in commits for path in commit.files if path in files)
        records.store(client, days_ago, [(path, as_artifact(path)) for path in touched if path not in records.ids])
        records.store(client, days_ago, [(commit.sha, as_note(commit, files)) for commit in commits])
    return replace(place, texts={record_id: key for key, record_id in records.ids.items()})


def _part(collection: Collection, arm: str, body: Mapping[str, bool]) -> Part:
    note = ", ".join(f"{name}={str(value).lower()}" for name, value in body.items()) or "as any client gets it"
    return Part(collection.name, arm, collection.unit, len(collection.texts), collection.aim.measure, note=note)
