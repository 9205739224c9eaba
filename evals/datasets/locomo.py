"""LoCoMo: long conversations between two people, and questions whose evidence is single turns."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.datasets.collection import Aim, Collection, Question, Text, json_lines

_SESSION = re.compile(r"session_(\d+)")
_ADVERSARIAL = 5
_DATE = "%I:%M %p on %d %B, %Y"


def read_locomo(folder: Path) -> Collection:
    """Read turns and questions (Maharana et al., ACL 2024). Adversarial questions are reported apart.

    Each conversation is a haystack of its own, its sittings are threads, and its questions are one cluster. A turn is
    "[date] speaker: text", with the caption of a picture that it shares.
    """
    conversations = json.loads((folder / "locomo10-dev.json").read_text(encoding="utf-8"))
    texts = tuple(text for conversation in conversations for text in _turns(conversation))
    known = {(text.haystack, text.id) for text in texts}
    questions = []
    for line in json_lines(folder / "qa-dev.jsonl.gz"):
        grades = {turn: 1 for turn in line["evidence"] if (line["conv"], turn) in known}
        if line["scorable"] and grades:
            conversation, category = line["conv"], f"{line['category']} {line['category_name']}"
            apart = line["category"] == _ADVERSARIAL
            questions.append(
                Question(line["qid"], conversation, line["question"], grades, conversation, category, apart)
            )
    aim = Aim("recall@10", floor=0.76, goal=0.85)
    return Collection("locomo", "turn", "recall", texts, tuple(questions), aim)


def _turns(sample: dict[str, Any]) -> Iterator[Text]:
    conversation = sample["conversation"]
    numbers = sorted(int(found[1]) for found in map(_SESSION.fullmatch, conversation) if found)
    for sitting, number in enumerate(numbers):
        said_on = conversation[f"session_{number}_date_time"]
        for ordinal, turn in enumerate(conversation[f"session_{number}"]):
            caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield Text(
                id=turn["dia_id"],
                haystack=sample["sample_id"],
                content=f"[{said_on}] {turn['speaker']}: {turn['text']}{caption}",
                thread_id=f"conversation-{sitting}",
                ordinal=ordinal,
                captured_at=_moment(said_on),
            )


def _moment(said_on: str) -> str:
    return datetime.strptime(said_on, _DATE).replace(tzinfo=UTC).isoformat()
