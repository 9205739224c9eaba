"""SciFact and CoSQA: a corpus, queries and judgements in BEIR form (Thakur et al., NeurIPS 2021)."""

import csv
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from evals.datasets.collection import Aim, Collection, Question, Text, first_of, json_lines

CORPUS = ("corpus.jsonl.gz", "corpus.jsonl")
QUERIES = ("queries-dev.jsonl", "queries.jsonl.gz", "queries.jsonl")
JUDGEMENTS = ("qrels-dev.tsv", "qrels/dev.tsv", "qrels/test.tsv", "qrels/train.tsv")
"""The first that is there is read: a part cut for development has files of its own, BEIR publishes the others."""
_FUNCTION = re.compile(r"\bdef\s+(\w+)")
_NAME_LIMIT = 200


def read_scifact(folder: Path) -> Collection:
    """Read scientific abstracts and the claims that they support or refute (Wadden et al., EMNLP 2020)."""
    texts = tuple(
        Text(line["_id"], "", line["text"], str(line.get("title", "")).strip()[:_NAME_LIMIT] or "untitled")
        for line in json_lines(first_of(folder, CORPUS))
    )
    aim = Aim("nDCG@10", floor=0.73, goal=0.77)
    return Collection("scifact", "document", "search", texts, _questions(folder), aim, "document", files=_files(folder))


def read_cosqa(folder: Path) -> Collection:
    """Read Python functions and the web queries that each answers (Huang et al., ACL 2021)."""
    texts = tuple(
        Text(line["_id"], "", line["text"], _function_name(line)) for line in json_lines(first_of(folder, CORPUS))
    )
    aim = Aim("nDCG@10", floor=0.54, goal=0.62)
    return Collection("cosqa", "document", "search", texts, _questions(folder), aim, "pattern", files=_files(folder))


def _function_name(line: dict[str, Any]) -> str:
    found = _FUNCTION.search(line["text"])
    return (found[1] if found else str(line["text"]).partition("\n")[0]).strip()[:_NAME_LIMIT] or "untitled"


def _files(folder: Path) -> tuple[str, ...]:
    found = (first_of(folder, names) for names in (CORPUS, QUERIES, JUDGEMENTS))
    return tuple(path.relative_to(folder).as_posix() for path in found)


def _questions(folder: Path) -> tuple[Question, ...]:
    grades = _grades(first_of(folder, JUDGEMENTS))
    return tuple(
        Question(line["_id"], "", line["text"], grades[line["_id"]])
        for line in json_lines(first_of(folder, QUERIES))
        if line["_id"] in grades
    )


def _grades(path: Path) -> dict[str, dict[str, int]]:
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["score"]) > 0:
                grades[row["query-id"]][row["corpus-id"]] = int(row["score"])
    return dict(grades)
