"""Small labelled sets for tests, written into a folder."""

import gzip
import json
from pathlib import Path
from typing import Any

from evals.datasets import READERS, Collection

SUBJECTS = {
    "retry": "Calls to other services are repeated three times with growing pauses.",
    "cache": "The build cache lies on the fast disk and is emptied every night.",
    "login": "Somebody who forgets a password receives a link by e-mail.",
    "parser": "Numbers in configuration files may carry a unit such as seconds or bytes.",
}
QUESTIONS = {"retry": "how often are calls repeated?", "login": "what happens when a password is forgotten?"}
SAID = (
    ("monday", "The staging database ran out of disk space again."),
    ("monday", "I deleted the old backups, so there is room until Friday."),
    ("tuesday", "Greta wants the invoices as PDF by the end of June."),
    ("tuesday", "The printer on the second floor is called Marvin."),
)


def read_public(name: str, folder: Path) -> Collection:
    return READERS[name][1](folder)


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_scifact(folder: Path) -> None:
    texts = [{"_id": name, "title": name, "text": text} for name, text in SUBJECTS.items()]
    write_lines(folder / "corpus.jsonl.gz", texts)
    write_lines(folder / "queries-dev.jsonl", [{"_id": name, "text": text} for name, text in QUESTIONS.items()])
    rows = "".join(f"{name}\t{name}\t1\n" for name in QUESTIONS)
    (folder / "qrels-dev.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")


def own_lines() -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"kind": "set", "name": "talks", "unit": "turn", "door": "recall", "floor": 0.5}]
    for haystack in ("north", "south"):
        lines += [
            {"kind": "text", "id": f"{haystack}-{place}", "haystack": haystack, "content": said, "thread_id": thread,
             "ordinal": place, "captured_at": "2026-05-04T09:00:00+00:00", "speaker": "Ada"}
            for place, (thread, said) in enumerate(SAID)
        ]  # fmt: skip
        lines += [
            {"kind": "question", "id": f"{haystack}-disk", "haystack": haystack, "text": "Which disk was full?",
             "answers": [f"{haystack}-0", f"{haystack}-1"], "category": "several", "cluster": haystack},
            {"kind": "question", "id": f"{haystack}-printer", "haystack": haystack, "text": "Who is the printer?",
             "answers": {f"{haystack}-3": 2}, "category": "single", "cluster": haystack},
        ]  # fmt: skip
    lines.append(
        {"kind": "question", "id": "apart", "haystack": "north", "text": "Who wants invoices?", "answers": ["north-2"],
         "category": "odd", "cluster": "north", "apart": True}
    )  # fmt: skip
    return lines


def write_own(folder: Path) -> Path:
    return write_lines(folder / "talks.jsonl", own_lines())
