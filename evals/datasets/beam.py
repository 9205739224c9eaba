"""BEAM: long chats of a person with an assistant, questions answered by single messages."""

from pathlib import Path

from evals.datasets.collection import Aim, Collection, Question, Text, json_lines

SIZE = "100k"


def read_beam(folder: Path) -> Collection:
    """Read messages and questions of the chats of 100,000 tokens (Tavakoli et al., 2025); abstention is reported apart.

    A chat is a haystack and a cluster, a sitting a thread, the role the speaker.
    """
    messages, asked = f"messages-{SIZE}.jsonl.gz", f"questions-{SIZE}.jsonl.gz"
    questions, unanswered = list[Question](), list[Question]()
    for line in json_lines(folder / asked):
        grades = {str(message): 1 for message in line["evidence"]}
        question = Question(line["qid"], line["chat"], line["question"], grades, line["chat"], line["ability"])
        if line["answerable"] and question.grades:
            questions.append(question)
        elif not line["answerable"]:
            unanswered.append(question)
    return Collection(
        name="beam",
        unit="message",
        door="recall",
        texts=tuple(
            Text(
                id=str(line["id"]),
                haystack=line["chat"],
                content=line["text"],
                thread_id=f"{line['chat']}-{line['batch']}",
                ordinal=line["id"],
                captured_at=line["time_anchor"],
                speaker=line["role"],
            )
            for line in json_lines(folder / messages)
        ),
        questions=tuple(questions),
        aim=Aim("recall@10", floor=0.58, goal=0.65),
        files=(messages, asked),
        unanswered=tuple(unanswered),
    )
