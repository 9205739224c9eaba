"""Make questions of commits, store them as of their days; ask with and without relations and recency."""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evals.client import Client, progress
from evals.datasets import Aim, Collection, Question, Text
from evals.datasets.collection import readable
from evals.dated_records import PATTERN, DatedRecords, log_folder
from evals.harness.arms import Arm, searched
from evals.harness.asking import Asking, ask_part
from evals.harness.server import Place, opened, served
from evals.history.commits import Commit, Project, as_artifact, as_note, read_project
from evals.metrics import require_library
from evals.options import Options
from evals.results import Part
from evals.runs import Journal, Prepared
from stores.errors import EngrainError

AIMS = {"relation": Aim("recall@10"), "latest": Aim("MRR@10"), "plain": Aim("nDCG@10")}
PER_PROJECT = 60
"""Most questions of one kind."""
MOST_COMMITS = 9
"""Most commits a file of a *relation* question may have: the file takes one of ten places."""
LEAST_WORDS = 6
_CHANGING = re.compile(r"#\d+|\bv?\d[\w.+]*|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b")
"""Numbers, versions and hashes."""
_WORD = re.compile(r"\w(?:[\w@/'.-]*\w)?")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_TRAILER = re.compile(r"(?im)^[a-z][a-z-]*-(?:by|id|to|for): .*$")
_PARAGRAPH = re.compile(r"\n\s*\n|(?:^|\n)\s*(?:[*\-+#]+|\d+\.)\s|(?:^|\n)-{3,}")
"""End of a paragraph or list item."""
_SENTENCE = re.compile(r"(?<=[.!?])\s")


def questions_of(project: Project) -> dict[str, list[Question]]:
    made = {"relation": _relation(project), "latest": _latest(project), "plain": _plain(project)}
    draw = random.Random(project.name)  # noqa: S311 - a draw that anyone can repeat
    found = {kind: sorted(questions, key=lambda each: each.id) for kind, questions in made.items()}
    return {kind: draw.sample(each, min(len(each), PER_PROJECT)) for kind, each in found.items()}


def common(subject: str) -> str:
    """Normalize a subject."""
    return " ".join(_WORD.findall(_CHANGING.sub(" ", subject.lower())))


def first_sentence(body: str) -> str:
    text = _TRAILER.sub("", body.replace("\r\n", "\n")).strip()
    first = next((part for part in _PARAGRAPH.split(text) if part.strip()), "")
    return _SENTENCE.split(" ".join(first.split()), maxsplit=1)[0]


def _relation(project: Project) -> Iterator[Question]:
    for path, commits in project.files.items():
        name = path.rpartition("/")[2].lower()
        if len(commits) <= MOST_COMMITS and not any(name in commit.subject.lower() for commit in commits):
            yield _question(project, path, f"what changed in {path}", commits)


def _latest(project: Project) -> Iterator[Question]:
    groups: dict[str, list[Commit]] = {}
    for commit in project.commits:
        groups.setdefault(common(commit.subject), []).append(commit)
    for said, commits in groups.items():
        last = max(commit.day for commit in commits)
        newest = [commit for commit in commits if commit.day == last]
        if said and len(commits) > 1 and len(newest) == 1:
            yield _question(project, said, f"the latest {said}", newest)


def _plain(project: Project) -> Iterator[Question]:
    subjects = Counter(common(commit.subject) for commit in project.commits)
    sentences = {commit.sha: first_sentence(commit.body) for commit in project.commits}
    times = Counter(map(common, sentences.values()))
    for commit in project.commits:
        said, subject = sentences[commit.sha], common(commit.subject)
        repeats = common(said) in subject or (subject and subject in common(said))
        is_alone = subjects[subject] == times[common(said)] == 1
        if len(_LETTERS.findall(said)) >= LEAST_WORDS and is_alone and not repeats:
            yield _question(project, commit.sha, said, [commit])


def _question(project: Project, key: str, text: str, answers: list[Commit]) -> Question:
    grades = {commit.sha: 1 for commit in answers}
    return Question(f"{project.name} {key}", project.name, text, grades, cluster=project.name, category=project.name)


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
