"""Questions made of commits; labels are mechanical and unread.

*relation*: commits of a file that do not name it. *latest*: the last of several commits with one subject. *plain*: the
first sentence of a body.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator

from evals.datasets import Aim, Question
from evals.history.commits import Commit, Project

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
