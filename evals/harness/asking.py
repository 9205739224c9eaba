"""Ask the questions of a collection by one arm."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from evals.client import Client, progress
from evals.datasets.collection import Collection
from evals.harness.arms import Arm
from evals.harness.server import Place
from evals.machine import resident_mb
from evals.metrics import measured, unanswered_values
from evals.results import CHARACTERS_PER_TOKEN, Case, Part
from evals.runs import Journal
from tools.runtime.launch import ServerProcess

_WARM_UP = "hello"
_SHOWN, _BEGINNING = 3, 160


def ask(
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


def ask_part(journal: Journal, server: ServerProcess, part: Part, cases: Iterable[Case]) -> None:
    """Add a part and its cases to a run."""
    journal.cases += cases
    journal.parts.append(replace(part, resident_mb=resident_mb(server.process.pid)[0]))
