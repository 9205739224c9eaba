"""LongMemEval, user turns only: questions about what a user once told an assistant, answered by whole sessions."""

from pathlib import Path

from evals.datasets.collection import Collection, Question, Text, json_lines
from tools.entity_models import CONTENT_LIMIT


def read_longmemeval(folder: Path) -> Collection:
    """Read sessions and questions (Wu et al., ICLR 2025).

    The assistant's turns are missing, so that no figure on this is a LongMemEval-S score, and questions of the kind
    `single-session-assistant` can hardly be answered. All sessions lie in one haystack; for each question only the
    sessions that are listed for it compete. Questions that ask for an abstention have no answer to find: left out.
    """
    texts = tuple(
        Text(line["session_id"], "", "Conversation", "\n".join(line["user_turns"])[:CONTENT_LIMIT])
        for line in json_lines(folder / "sessions-dev.jsonl.gz")
    )
    questions = tuple(
        Question(
            line["question_id"],
            "",
            line["question"],
            dict.fromkeys(line["answer_session_ids"], 1),
            among=frozenset(line["haystack_session_ids"]),
            kind=line["question_type"],
        )
        for line in json_lines(folder / "questions-dev.jsonl.gz")
        if not line["abstention"]
    )
    return Collection("longmemeval", "session", texts, questions)
