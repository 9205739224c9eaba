"""Ask the questions of a collection by one arm."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from multiprocessing.pool import ThreadPool

from evals.client import Client, progress
from evals.datasets.collection import Collection, Question
from evals.harness.arms import Answer, Arm
from evals.harness.server import Place
from evals.machine import resident_mb
from evals.metrics import measured, unanswered_values
from evals.results import CHARACTERS_PER_TOKEN, Case, Part
from evals.runs import Journal
from tools.runtime.launch import ServerProcess

_WARM_UP = "hello"
_SHOWN, _BEGINNING = 3, 160


@dataclass(frozen=True, slots=True)
class Asking:
    address: str
    collection: Collection
    arm: Arm
    places: Mapping[str, Place]
    concurrency: int = 1
    answered: Sequence[float] = ()
    """Best scores of answered questions, to compare unanswered ones with."""

    def cases(self) -> Iterator[Case]:
        texts = {(text.haystack, text.id): text.content for text in self.collection.texts}
        progress(f"{self.collection.name}: asking {len(self.collection.questions)} questions, {self.arm.name}")
        for question, answer in self._answers():
            yield self._case(question, answer, texts)

    def _ask(self, client: Client, question: Question) -> Answer:
        client.present(self.places[question.haystack].token)
        return self.arm.ask(client, self.collection, question)

    def _answers(self) -> Iterator[tuple[Question, Answer]]:
        local, warm = threading.local(), set[str]()
        # One haystack after the other: a server keeps only some organizations open.
        questions = sorted(self.collection.questions, key=lambda question: question.haystack)
        with ExitStack() as clients:

            def ask(question: Question) -> tuple[Question, Answer]:
                client: Client | None = getattr(local, "client", None)
                if client is None:
                    client = local.client = clients.enter_context(Client(self.address))
                if question.haystack not in warm:
                    warm.add(question.haystack)
                    self._ask(client, replace(question, text=_WARM_UP))
                return question, self._ask(client, question)

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
        if question.grades or score is None:
            values: Mapping[str, float] = measured(found, question.grades)
        else:
            values = unanswered_values(score, self.answered)
        return Case(
            set=self.collection.name,
            arm=self.arm.name,
            unit=self.collection.unit,
            id=question.id,
            values=values,
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


def ask_part(journal: Journal, server: ServerProcess, part: Part, cases: Iterable[Case]) -> None:
    """Add a part and its cases to a run."""
    journal.cases += cases
    journal.parts.append(replace(part, resident_mb=resident_mb(server.process.pid)[0]))
