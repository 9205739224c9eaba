"""Asks the questions of a collection by one arm, and keeps every answer as it comes."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from multiprocessing.pool import ThreadPool

from evals.client import Client
from evals.datasets.collection import Collection, Question
from evals.harness.arms import Answer, Arm
from evals.harness.places import Place
from evals.harness.server import Target
from evals.metrics import measured, told_apart
from evals.progress import progress
from evals.results import CHARACTERS_PER_TOKEN, Case, Part
from evals.runs import Journal

WARM_AT_ONCE = 16
"""Haystacks that are warmed up before the questions about them; a server keeps some organizations open."""
_WARM_UP = "hello"
_SHOWN, _BEGINNING = 3, 160


@dataclass(frozen=True, slots=True)
class Asking:
    """One collection through one arm."""

    address: str
    key: str
    collection: Collection
    arm: Arm
    places: Mapping[str, Place]
    concurrency: int
    answered: Sequence[float] = ()
    """The best scores for the questions that something answers, by the same arm: those without an answer need them."""

    def ask_all(self, journal: Journal) -> None:
        """Ask what the journal has no answer to."""
        asked = [question for question in self.collection.questions if self._key(question) not in journal.cases]
        total = len(self.collection.questions)
        texts = {(text.haystack, text.id): text.content for text in self.collection.texts}
        with progress(f"{self.collection.name}: asking, {self.arm.name}", total, total - len(asked)) as advance:
            for questions in _batches(asked):
                with Client(self.address) as client:
                    self._warm_up(client, questions)
                before = time.perf_counter()
                for question, answer in self._answers(questions):
                    now = time.perf_counter()
                    journal.add(self._case(question, answer, texts), now - before)
                    before = now
                    advance(1)

    def _key(self, question: Question) -> tuple[str, str, str]:
        return self.collection.name, self.arm.name, question.id

    def _warm_up(self, client: Client, questions: Sequence[Question]) -> None:
        """Let each haystack be asked once before times count."""
        for name in dict.fromkeys(question.haystack for question in questions):
            place = self.places[name]
            place.enter(client, self.key)
            self.arm.doors[self.collection.door](client, place, self.collection, _WARM_UP)

    def _answers(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Answer]]:
        """Answers as they come: in order on one connection, or as each of several is ready."""
        local, ask_by = threading.local(), self.arm.doors[self.collection.door]

        with ExitStack() as clients:

            def ask(question: Question) -> tuple[Question, Answer]:
                client: Client | None = getattr(local, "client", None)
                if client is None:
                    client = local.client = clients.enter_context(Client(self.address))
                place = self.places[question.haystack]
                place.enter(client, self.key)
                return question, ask_by(client, place, self.collection, question.text)

            if self.concurrency == 1:
                yield from map(ask, questions)
                return
            with ThreadPool(self.concurrency) as pool:
                yield from pool.imap_unordered(ask, questions)

    def _case(self, question: Question, answer: Answer, texts: Mapping[tuple[str, str], str]) -> Case:
        known = self.places[question.haystack].texts
        found = tuple(known.get(record_id, record_id) for record_id in answer.ids)
        score = answer.score if self.arm.scores else None
        missed = [one for one in question.grades if one not in found]
        return Case(
            set=self.collection.name,
            arm=self.arm.name,
            unit=self.collection.unit,
            id=question.id,
            values=self._values(question, found, score),
            cluster=question.cluster,
            category=question.category,
            apart=question.apart,
            question=question.text,
            wanted=question.grades,
            found=found,
            took_ms=answer.took_ms,
            tokens=round(sum(map(len, answer.texts)) / CHARACTERS_PER_TOKEN),
            best=[text[:_BEGINNING] for text in answer.texts[:_SHOWN]],
            missed=[texts.get((question.haystack, one), "")[:_BEGINNING] for one in missed[:_SHOWN]],
            score=score,
        )

    def _values(self, question: Question, found: Sequence[str], score: float | None) -> Mapping[str, float]:
        if question.grades or score is None:
            return measured({"q": found}, {"q": question.grades})["q"]
        return told_apart(score, self.answered)


def _batches(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """Questions by haystack, those of a few haystacks at a time."""
    by_haystack: dict[str, list[Question]] = {}
    for question in questions:
        by_haystack.setdefault(question.haystack, []).append(question)
    groups = list(by_haystack.values())
    for first in range(0, len(groups), WARM_AT_ONCE):
        yield [question for group in groups[first : first + WARM_AT_ONCE] for question in group]


def close_part(journal: Journal, target: Target, part: Part) -> None:
    """Keep a part whose questions are all answered, with what asking took and what is to be known of its server."""
    resident_mb, peak_mb = target.memory_mb()
    seconds = journal.asking_s(part.set, part.arm)
    journal.close_part(replace(part, asking_s=seconds, resident_mb=resident_mb, peak_mb=peak_mb))
