"""LoCoMo, LoCoMo-Plus, BEAM and LongMemEval: conversations, and questions about them."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.datasets.collection import Aim, Collection, Question, Text, json_lines

_SESSION = re.compile(r"session_(\d+)")
_ADVERSARIAL = 5
_DATE = "%I:%M %p on %d %B, %Y"


def read_locomo(folder: Path) -> Collection:
    """Read turns and questions (Maharana et al., ACL 2024); adversarial ones are reported apart.

    A conversation is a haystack and a cluster, a sitting a thread, a turn "[date] speaker: text [caption]".
    """
    conversations = json.loads((folder / "locomo10-dev.json").read_text(encoding="utf-8"))
    texts = tuple(text for conversation in conversations for text in _turns(conversation))
    known = {(text.haystack, text.id) for text in texts}
    questions, misnamed = [], 0
    for line in json_lines(folder / "qa-dev.jsonl.gz"):
        if not line["scorable"]:
            continue
        evidence = dict.fromkeys(line["evidence"], 1)
        grades = {turn: grade for turn, grade in evidence.items() if (line["conv"], turn) in known}
        misnamed += grades != evidence
        if grades:
            conversation, category = line["conv"], f"{line['category']} {line['category_name']}"
            apart = line["category"] == _ADVERSARIAL
            questions.append(
                Question(line["qid"], conversation, line["question"], grades, conversation, category, apart)
            )
    return Collection(
        "locomo", "turn", "recall", texts, tuple(questions), Aim("recall@10", floor=0.76, goal=0.85),
        remarks=(f"{misnamed} questions whose evidence names no turn",) if misnamed else (),
    )  # fmt: skip


def _turns(sample: dict[str, Any]) -> Iterator[Text]:
    conversation = sample["conversation"]
    numbers = sorted(int(found[1]) for found in map(_SESSION.fullmatch, conversation) if found)
    for sitting, number in enumerate(numbers):
        said_on = conversation[f"session_{number}_date_time"]
        captured_at = datetime.strptime(said_on, _DATE).replace(tzinfo=UTC).isoformat()
        for ordinal, turn in enumerate(conversation[f"session_{number}"]):
            caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            content = f"[{said_on}] {turn['speaker']}: {turn['text']}{caption}"
            yield Text(
                turn["dia_id"], sample["sample_id"], content, thread_id=f"conversation-{sitting}", ordinal=ordinal,
                captured_at=captured_at,
            )  # fmt: skip


def read_locomo_plus(folder: Path) -> Collection:
    """Read conversations with a cue each, and triggers that share no words with it; laid out as LoCoMo is."""
    texts = [
        Text(
            line["id"], line["conv"], f"[{line['when']}] {line['speaker']}: {line['text']}",
            thread_id=f"{line['conv']}-{line['session']}", ordinal=line["ordinal"], captured_at=line["captured_at"],
            speaker=line["speaker"],
        )
        for line in json_lines(folder / "turns.jsonl.gz")
    ]  # fmt: skip
    questions = []
    for line in json_lines(folder / "pairs.jsonl.gz"):
        grades, where = dict.fromkeys(line["evidence"], 1), line["conv"]
        questions.append(Question(str(line["pair"]), where, line["question"], grades, where, line["relation"]))
    aim = Aim("recall@10", floor=0.19, goal=0.25)
    return Collection("locomo-plus", "turn", "recall", tuple(texts), tuple(questions), aim)


def read_beam(folder: Path) -> Collection:
    """Read messages and questions of the chats of 100,000 tokens (Tavakoli et al., 2025); abstention is reported apart.

    A chat is a haystack and a cluster, a sitting a thread, the role the speaker.
    """
    questions, unanswered = list[Question](), list[Question]()
    for line in json_lines(folder / "questions-100k.jsonl.gz"):
        grades = {str(message): 1 for message in line["evidence"]}
        question = Question(line["qid"], line["chat"], line["question"], grades, line["chat"], line["ability"])
        if line["answerable"] and question.grades:
            questions.append(question)
        elif not line["answerable"]:
            unanswered.append(question)
    texts = [
        Text(
            str(line["id"]), line["chat"], line["text"], thread_id=f"{line['chat']}-{line['batch']}",
            ordinal=line["id"], captured_at=line["time_anchor"], speaker=line["role"],
        )
        for line in json_lines(folder / "messages-100k.jsonl.gz")
    ]  # fmt: skip
    return Collection(
        "beam", "message", "recall", tuple(texts), tuple(questions), Aim("recall@10", floor=0.58, goal=0.65),
        unanswered=tuple(unanswered),
    )  # fmt: skip


_APART = "single-session-assistant"
"""Answered by assistant turns, which are left out."""


def read_longmemeval(folder: Path) -> Collection:
    """Read questions, each with its haystack, one memory per session (Wu et al., ICLR 2025).

    Without assistant turns: not comparable with LongMemEval-S scores. Abstention questions are pooled only.
    """
    sessions, answered, _ = _longmemeval(folder)
    texts = [
        text
        for line in answered
        for text in _placed(line["question_id"], [sessions[name] for name in line["haystack_session_ids"]])
    ]
    questions = tuple(_about_sessions(line, line["question_id"]) for line in answered)
    aim = Aim("recall@5", floor=0.92, goal=0.96)
    return Collection("longmemeval", "session", "recall", tuple(texts), questions, aim)


def read_longmemeval_pooled(folder: Path) -> Collection:
    """Read the same questions over all sessions, with the abstention questions."""
    sessions, answered, abstained = _longmemeval(folder)
    return Collection(
        "longmemeval-pooled", "session", "recall", tuple(_placed("", sessions.values())),
        tuple(_about_sessions(line, "") for line in answered), Aim("recall@10", floor=0.85, goal=0.90),
        unanswered=tuple(replace(_about_sessions(line, ""), grades={}) for line in abstained),
    )  # fmt: skip


def _longmemeval(folder: Path) -> tuple[dict[str, Text], list[dict[str, Any]], list[dict[str, Any]]]:
    lines = json_lines(folder / "sessions-dev.jsonl.gz")
    sessions = {line["session_id"]: Text(line["session_id"], "", "\n".join(line["user_turns"])) for line in lines}
    asked = list(json_lines(folder / "questions-dev.jsonl.gz"))
    answered, abstained = ([line for line in asked if line["abstention"] is which] for which in (False, True))
    return sessions, answered, abstained


def _placed(haystack: str, sessions: Iterable[Text]) -> Iterator[Text]:
    for place, session in enumerate(sessions):
        yield replace(session, haystack=haystack, thread_id=f"conversation-{place}", ordinal=0)


def _about_sessions(line: dict[str, Any], haystack: str) -> Question:
    kind, grades = line["question_type"], dict.fromkeys(line["answer_session_ids"], 1)
    return Question(line["question_id"], haystack, line["question"], grades, category=kind, apart=kind == _APART)
