"""LongMemEval: questions answered by whole sessions, user turns only."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.datasets.collection import Aim, Collection, Question, Text, first_of, json_lines

QUESTIONS, SESSIONS = "questions-dev.jsonl.gz", "sessions-dev.jsonl.gz"
"""Development split, sessions in a separate file."""
PUBLISHED = ("longmemeval_s_cleaned.json", "longmemeval_s.json", "longmemeval_oracle.json")
"""As published, each question holds its haystack."""
_DATE = "%Y/%m/%d (%a) %H:%M"
_ABSTENTION = "_abs"
_APART = "single-session-assistant"
"""Answered by assistant turns, which are left out."""


def read_longmemeval(folder: Path) -> Collection:
    """Read questions, each with its haystack, one memory per session (Wu et al., ICLR 2025).

    Without assistant turns: not comparable with LongMemEval-S scores. Abstention questions are pooled only.
    """
    found = _read(folder)
    texts = tuple(
        _text(line["question_id"], session, place)
        for line in found.questions
        for place, session in enumerate(found.haystacks[line["question_id"]])
    )
    questions = tuple(_question(line, line["question_id"]) for line in found.questions)
    return _collection("longmemeval", found, texts, questions, Aim("recall@5", floor=0.92, goal=0.96))


def read_longmemeval_pooled(folder: Path) -> Collection:
    """Read the same questions over all sessions, with the abstention questions."""
    found = _read(folder)
    texts = tuple(_text("", session, place) for place, session in enumerate(found.pool))
    questions = tuple(_question(line, "") for line in found.questions)
    unanswered = tuple(replace(_question(line, ""), grades={}) for line in found.abstentions)
    pooled = _collection("longmemeval-pooled", found, texts, questions, Aim("recall@10", floor=0.85, goal=0.90))
    return replace(pooled, unanswered=unanswered)


@dataclass(frozen=True, slots=True)
class _Session:
    id: str
    said: str
    on: str | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    questions: Sequence[dict[str, Any]]
    abstentions: Sequence[dict[str, Any]]
    haystacks: Mapping[str, Sequence[_Session]]
    pool: Sequence[_Session]
    files: tuple[str, ...]


def _read(folder: Path) -> _Read:
    file = first_of(folder, (QUESTIONS, *PUBLISHED))
    return _cut(folder) if file.name == QUESTIONS else _published(file)


def _cut(folder: Path) -> _Read:
    lines = json_lines(folder / SESSIONS)
    sessions = {line["session_id"]: _Session(line["session_id"], "\n".join(line["user_turns"])) for line in lines}
    asked = list(json_lines(folder / QUESTIONS))
    questions = [line for line in asked if not line["abstention"]]
    abstentions = [line for line in asked if line["abstention"]]
    haystacks = {line["question_id"]: [sessions[name] for name in line["haystack_session_ids"]] for line in questions}
    return _Read(questions, abstentions, haystacks, list(sessions.values()), (QUESTIONS, SESSIONS))


def _published(file: Path) -> _Read:
    lines = json.loads(file.read_text(encoding="utf-8"))
    haystacks = {line["question_id"]: _once(_sessions(line)) for line in lines}
    questions = [line for line in lines if not line["question_id"].endswith(_ABSTENTION)]
    abstentions = [line for line in lines if line["question_id"].endswith(_ABSTENTION)]
    pool = _once(session for each in haystacks.values() for session in each)
    return _Read(questions, abstentions, haystacks, pool, (file.name,))


def _sessions(line: dict[str, Any]) -> Iterable[_Session]:
    columns = (line["haystack_session_ids"], line["haystack_dates"], line["haystack_sessions"])
    for name, date, turns in zip(*columns, strict=True):
        said = "\n".join(turn["content"] for turn in turns if turn["role"] == "user")
        # No server keeps an empty text.
        if said.strip():
            yield _Session(name, said, datetime.strptime(date, _DATE).replace(tzinfo=UTC).isoformat())


def _collection(
    name: str, read: _Read, texts: tuple[Text, ...], questions: tuple[Question, ...], aim: Aim
) -> Collection:
    there = {(text.haystack, text.id) for text in texts}
    short = sum(any((question.haystack, each) not in there for each in question.grades) for question in questions)
    remarks = (f"{short} questions need a session without a user turn, which counts as not found",) if short else ()
    return Collection(name, "session", "recall", texts, questions, aim, files=read.files, remarks=remarks)


def _once(sessions: Iterable[_Session]) -> list[_Session]:
    found: dict[str, _Session] = {}
    for session in sessions:
        found.setdefault(session.id, session)
    return list(found.values())


def _text(haystack: str, session: _Session, place: int) -> Text:
    thread = f"conversation-{place}"
    return Text(session.id, haystack, session.said, thread_id=thread, ordinal=0, captured_at=session.on)


def _question(line: dict[str, Any], haystack: str) -> Question:
    return Question(
        id=line["question_id"],
        haystack=haystack,
        text=line["question"],
        grades=dict.fromkeys(line["answer_session_ids"], 1),
        category=line["question_type"],
        apart=line["question_type"] == _APART,
    )
