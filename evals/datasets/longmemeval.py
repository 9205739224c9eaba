"""LongMemEval, user turns only: questions about what a user once told an assistant, answered by whole sessions."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evals.datasets.collection import Aim, Collection, Question, Text, json_lines

_APART = "single-session-assistant"
"""Its answers stand in the assistant's turns, which are missing."""


def read_longmemeval(folder: Path) -> Collection:
    """Read questions, each with a haystack of its own, one raw memory per session (Wu et al., ICLR 2025).

    The assistant's turns are missing, so that no figure on this is a LongMemEval-S score. Questions that ask for an
    abstention have no answer to find: left out.
    """
    sessions, lines = _sessions(folder), list(_questions(folder))
    texts = tuple(
        _text(line["question_id"], session_id, sessions[session_id], place)
        for line in lines
        for place, session_id in enumerate(line["haystack_session_ids"])
    )
    questions = tuple(_question(line, line["question_id"]) for line in lines)
    aim = Aim("recall@5", floor=0.92, goal=0.96)
    return Collection("longmemeval", "session", "recall", texts, questions, aim)


def read_longmemeval_pooled(folder: Path) -> Collection:
    """Read the same questions over all sessions together: one haystack."""
    sessions = _sessions(folder)
    texts = tuple(_text("", name, said, place) for place, (name, said) in enumerate(sessions.items()))
    questions = tuple(_question(line, "") for line in _questions(folder))
    aim = Aim("recall@10", floor=0.85, goal=0.90)
    return Collection("longmemeval-pooled", "session", "recall", texts, questions, aim)


def _sessions(folder: Path) -> Mapping[str, str]:
    lines = json_lines(folder / "sessions-dev.jsonl.gz")
    return {line["session_id"]: "\n".join(line["user_turns"]) for line in lines}


def _questions(folder: Path) -> Iterator[dict[str, Any]]:
    return (line for line in json_lines(folder / "questions-dev.jsonl.gz") if not line["abstention"])


def _text(haystack: str, session_id: str, said: str, place: int) -> Text:
    """A session is a thread of its own: the next one may be about anything."""
    return Text(session_id, haystack, said, thread_id=f"conversation-{place}", ordinal=0)


def _question(line: dict[str, Any], haystack: str) -> Question:
    return Question(
        id=line["question_id"],
        haystack=haystack,
        text=line["question"],
        grades=dict.fromkeys(line["answer_session_ids"], 1),
        category=line["question_type"],
        apart=line["question_type"] == _APART,
    )
