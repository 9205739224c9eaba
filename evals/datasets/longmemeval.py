"""LongMemEval: questions answered by whole sessions, user turns only."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evals.datasets.collection import Aim, Collection, Question, Text, json_lines

_APART = "single-session-assistant"
"""Answered by assistant turns, which are left out."""


def read_longmemeval(folder: Path) -> Collection:
    """Read questions, each with its haystack, one memory per session (Wu et al., ICLR 2025).

    Without assistant turns: not comparable with LongMemEval-S scores. Abstention questions are pooled only.
    """
    sessions, answered, _ = _read(folder)
    texts = [
        text
        for line in answered
        for text in _placed(line["question_id"], [sessions[name] for name in line["haystack_session_ids"]])
    ]
    questions = tuple(_question(line, line["question_id"]) for line in answered)
    aim = Aim("recall@5", floor=0.92, goal=0.96)
    return Collection("longmemeval", "session", "recall", tuple(texts), questions, aim)


def read_longmemeval_pooled(folder: Path) -> Collection:
    """Read the same questions over all sessions, with the abstention questions."""
    sessions, answered, abstained = _read(folder)
    return Collection(
        "longmemeval-pooled", "session", "recall", tuple(_placed("", sessions.values())),
        tuple(_question(line, "") for line in answered), Aim("recall@10", floor=0.85, goal=0.90),
        unanswered=tuple(replace(_question(line, ""), grades={}) for line in abstained),
    )  # fmt: skip


def _read(folder: Path) -> tuple[dict[str, Text], list[dict[str, Any]], list[dict[str, Any]]]:
    lines = json_lines(folder / "sessions-dev.jsonl.gz")
    sessions = {line["session_id"]: Text(line["session_id"], "", "\n".join(line["user_turns"])) for line in lines}
    asked = list(json_lines(folder / "questions-dev.jsonl.gz"))
    answered, abstained = ([line for line in asked if line["abstention"] is which] for which in (False, True))
    return sessions, answered, abstained


def _placed(haystack: str, sessions: Iterable[Text]) -> Iterator[Text]:
    for place, session in enumerate(sessions):
        yield replace(session, haystack=haystack, thread_id=f"conversation-{place}", ordinal=0)


def _question(line: dict[str, Any], haystack: str) -> Question:
    kind, grades = line["question_type"], dict.fromkeys(line["answer_session_ids"], 1)
    return Question(line["question_id"], haystack, line["question"], grades, category=kind, apart=kind == _APART)
