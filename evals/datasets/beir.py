"""SciFact and CoSQA: a corpus, queries and judgements in BEIR form."""

import csv
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evals.datasets.collection import Collection, Question, Text, json_lines

_FUNCTION = re.compile(r"\bdef\s+(\w+)")
_NAME_LIMIT = 200


def read_scifact(folder: Path) -> Collection:
    """Read scientific abstracts and the claims that they support or refute (Wadden et al., EMNLP 2020)."""
    return _read(folder, "scifact", "abstract", lambda line: str(line.get("title", "")))


def read_cosqa(folder: Path) -> Collection:
    """Read Python functions and the web queries that each answers (Huang et al., ACL 2021)."""
    return _read(folder, "cosqa", "function", _function_name)


def _function_name(line: dict[str, Any]) -> str:
    found = _FUNCTION.search(line["text"])
    return found[1] if found else str(line["text"]).partition("\n")[0]


def _read(folder: Path, name: str, unit: str, title: Callable[[dict[str, Any]], str]) -> Collection:
    grades = _grades(folder / "qrels-dev.tsv")
    texts = tuple(
        Text(line["_id"], "", title(line).strip()[:_NAME_LIMIT] or "untitled", line["text"])
        for line in json_lines(folder / "corpus.jsonl.gz")
    )
    questions = tuple(
        Question(line["_id"], "", line["text"], grades[line["_id"]])
        for line in json_lines(folder / "queries-dev.jsonl")
        if line["_id"] in grades
    )
    return Collection(name, unit, texts, questions)


def _grades(path: Path) -> dict[str, dict[str, int]]:
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["score"]) > 0:
                grades[row["query-id"]][row["corpus-id"]] = int(row["score"])
    return dict(grades)
