"""LoCoMo: long conversations between two people, and questions whose evidence is single turns."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evals.datasets.collection import Collection, Question, Text, json_lines

_SESSION = re.compile(r"session_\d+")
_ADVERSARIAL = 5


def read_locomo(folder: Path) -> Collection:
    """Read turns and questions (Maharana et al., ACL 2024); adversarial questions have no evidence and are left out.

    Each conversation is a haystack of its own, and its questions are one group.
    """
    conversations = json.loads((folder / "locomo10-dev.json").read_text(encoding="utf-8"))
    texts = tuple(text for conversation in conversations for text in _turns(conversation))
    known = {(text.haystack, text.id) for text in texts}
    questions = []
    for line in json_lines(folder / "qa-dev.jsonl.gz"):
        grades = {turn: 1 for turn in line["evidence"] if (line["conv"], turn) in known}
        if line["scorable"] and line["category"] != _ADVERSARIAL and grades:
            conversation, kind = line["conv"], line["category_name"]
            questions.append(
                Question(line["qid"], conversation, line["question"], grades, group=conversation, kind=kind)
            )
    return Collection("locomo", "turn", texts, tuple(questions))


def _turns(sample: dict[str, Any]) -> Iterator[Text]:
    conversation = sample["conversation"]
    for name in filter(_SESSION.fullmatch, conversation):
        date = conversation[f"{name}_date_time"]
        for turn in conversation[name]:
            shown = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield Text(turn["dia_id"], sample["sample_id"], f"{turn['speaker']}, {date}", turn["text"] + shown)
