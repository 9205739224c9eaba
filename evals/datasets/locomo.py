"""LoCoMo, LoCoMo-Plus and BEAM: conversations, and questions answered by single turns or messages."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.datasets.collection import Aim, Collection, Question, Text, first_of, json_lines

CONVERSATIONS = ("locomo10-dev.json", "locomo10.json")
"""The development split has its questions in a separate file."""
QUESTIONS = "qa-dev.jsonl.gz"
TURNS, PAIRS = "turns.jsonl.gz", "pairs.jsonl.gz"
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_TURN = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_ADVERSARIAL = 5
_DATE = "%I:%M %p on %d %B, %Y"


def read_locomo(folder: Path) -> Collection:
    """Read turns and questions (Maharana et al., ACL 2024); adversarial ones are reported apart.

    A conversation is a haystack and a cluster, a sitting a thread, a turn "[date] speaker: text [caption]".
    """
    file = first_of(folder, CONVERSATIONS)
    conversations = json.loads(file.read_text(encoding="utf-8"))
    texts = tuple(text for conversation in conversations for text in _turns(conversation))
    known = {(text.haystack, text.id) for text in texts}
    is_cut = file.name == CONVERSATIONS[0]
    questions, misnamed = [], 0
    for line in json_lines(folder / QUESTIONS) if is_cut else _asked(conversations):
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
        files=(file.name, QUESTIONS) if is_cut else (file.name,),
        remarks=(f"{misnamed} questions whose evidence names no turn",) if misnamed else (),
    )  # fmt: skip


def _asked(conversations: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for sample in conversations:
        for number, asked in enumerate(sample["qa"]):
            # One entry may name several turns ("D8:6; D9:17").
            said = _TURN.findall(" ".join(asked.get("evidence") or ()))
            yield {
                "qid": f"{sample['sample_id']}-q{number}",
                "conv": sample["sample_id"],
                "category": asked["category"],
                "category_name": _CATEGORIES[asked["category"]],
                "question": asked["question"],
                "evidence": [f"D{int(session)}:{int(turn)}" for session, turn in said],
                "scorable": bool(said),
            }


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
        for line in json_lines(folder / TURNS)
    ]  # fmt: skip
    questions = []
    for line in json_lines(folder / PAIRS):
        grades, where = dict.fromkeys(line["evidence"], 1), line["conv"]
        questions.append(Question(str(line["pair"]), where, line["question"], grades, where, line["relation"]))
    aim = Aim("recall@10", floor=0.19, goal=0.25)
    return Collection("locomo-plus", "turn", "recall", tuple(texts), tuple(questions), aim, files=(TURNS, PAIRS))


def read_beam(folder: Path) -> Collection:
    """Read messages and questions of the chats of 100,000 tokens (Tavakoli et al., 2025); abstention is reported apart.

    A chat is a haystack and a cluster, a sitting a thread, the role the speaker.
    """
    messages, asked = "messages-100k.jsonl.gz", "questions-100k.jsonl.gz"
    questions, unanswered = list[Question](), list[Question]()
    for line in json_lines(folder / asked):
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
        for line in json_lines(folder / messages)
    ]  # fmt: skip
    return Collection(
        "beam", "message", "recall", tuple(texts), tuple(questions), Aim("recall@10", floor=0.58, goal=0.65),
        files=(messages, asked), unanswered=tuple(unanswered),
    )  # fmt: skip
