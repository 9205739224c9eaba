"""LongMemEval: questions answered by whole sessions, user turns only."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from evals.datasets.collection import Aim, Collection, Question, Text, first_of, json_lines

QUESTIONS, SESSIONS = "questions-dev.jsonl.gz", "sessions-dev.jsonl.gz"
"""Development split, sessions in a separate file."""
PUBLISHED = ("longmemeval_s_cleaned.json", "longmemeval_s.json", "longmemeval_oracle.json")
"""As published, each question holds its haystack."""
_DATE = "%Y/%m/%d (%a) %H:%M"
_ABSTENTION = "_abs"
_APART = "single-session-assistant"
"""Answered by assistant turns, which are left out."""


class _Read(NamedTuple):
    questions: list[dict[str, Any]]
    haystacks: Mapping[str, Iterable[Text]]
    """Sessions by question."""
    pool: Iterable[Text]
    files: tuple[str, ...]


def read_longmemeval(folder: Path) -> Collection:
    """Read questions, each with its haystack, one memory per session (Wu et al., ICLR 2025).

    Without assistant turns: not comparable with LongMemEval-S scores. Abstention questions are pooled only.
    """
    found = _read(folder)
    asked = [(line["question_id"], line) for line in found.questions if not line["abstention"]]
    texts = [text for haystack, _ in asked for text in _placed(haystack, found.haystacks[haystack])]
    questions = [_question(line, haystack) for haystack, line in asked]
    return _collection("longmemeval", found, texts, questions, Aim("recall@5", floor=0.92, goal=0.96))


def read_longmemeval_pooled(folder: Path) -> Collection:
    """Read the same questions over all sessions, with the abstention questions."""
    found = _read(folder)
    questions = [_question(line, "") for line in found.questions if not line["abstention"]]
    unanswered = (replace(_question(line, ""), grades={}) for line in found.questions if line["abstention"])
    aim = Aim("recall@10", floor=0.85, goal=0.90)
    pooled = _collection("longmemeval-pooled", found, list(_placed("", found.pool)), questions, aim)
    return replace(pooled, unanswered=tuple(unanswered))


def _read(folder: Path) -> _Read:
    file = first_of(folder, (QUESTIONS, *PUBLISHED))
    return _cut(folder) if file.name == QUESTIONS else _published(file)


def _cut(folder: Path) -> _Read:
    lines = json_lines(folder / SESSIONS)
    sessions = {line["session_id"]: Text(line["session_id"], "", "\n".join(line["user_turns"])) for line in lines}
    asked = list(json_lines(folder / QUESTIONS))
    haystacks = {
        line["question_id"]: [sessions[name] for name in line["haystack_session_ids"]]
        for line in asked if not line["abstention"]
    }  # fmt: skip
    return _Read(asked, haystacks, sessions.values(), (QUESTIONS, SESSIONS))


def _published(file: Path) -> _Read:
    asked = json.loads(file.read_text(encoding="utf-8"))
    haystacks = {line["question_id"]: _once(_sessions(line)) for line in asked}
    pool = _once(session for each in haystacks.values() for session in each)
    asked = [{**line, "abstention": line["question_id"].endswith(_ABSTENTION)} for line in asked]
    return _Read(asked, haystacks, pool, (file.name,))


def _sessions(line: dict[str, Any]) -> Iterator[Text]:
    columns = (line["haystack_session_ids"], line["haystack_dates"], line["haystack_sessions"])
    for name, date, turns in zip(*columns, strict=True):
        said = "\n".join(turn["content"] for turn in turns if turn["role"] == "user")
        # No server keeps an empty text.
        if said.strip():
            yield Text(name, "", said, captured_at=datetime.strptime(date, _DATE).replace(tzinfo=UTC).isoformat())


def _once(sessions: Iterable[Text]) -> Iterable[Text]:
    found: dict[str, Text] = {}
    for session in sessions:
        found.setdefault(session.id, session)
    return found.values()


def _placed(haystack: str, sessions: Iterable[Text]) -> Iterator[Text]:
    for place, session in enumerate(sessions):
        yield replace(session, haystack=haystack, thread_id=f"conversation-{place}", ordinal=0)


def _collection(name: str, read: _Read, texts: list[Text], questions: list[Question], aim: Aim) -> Collection:
    there = {(text.haystack, text.id) for text in texts}
    short = sum(any((question.haystack, each) not in there for each in question.grades) for question in questions)
    remarks = (f"{short} questions need a session without a user turn, which counts as not found",) if short else ()
    return Collection(name, "session", "recall", tuple(texts), tuple(questions), aim, files=read.files, remarks=remarks)


def _question(line: dict[str, Any], haystack: str) -> Question:
    kind, grades = line["question_type"], dict.fromkeys(line["answer_session_ids"], 1)
    return Question(line["question_id"], haystack, line["question"], grades, category=kind, apart=kind == _APART)
