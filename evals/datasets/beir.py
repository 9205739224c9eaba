"""SciFact and CoSQA in BEIR form (Thakur et al., NeurIPS 2021)."""

import csv
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evals.datasets.collection import Aim, Collection, Question, Text, json_lines
from stores.errors import EngrainError

_FUNCTION = re.compile(r"\bdef\s+(\w+)")
_NAME_LIMIT = 200


def read_scifact(folder: Path) -> Collection:
    """Read scientific abstracts and claims (Wadden et al., EMNLP 2020)."""
    return _read(
        folder, "scifact", "document", Aim("nDCG@10", floor=0.73, goal=0.77), lambda line: str(line.get("title") or "")
    )


def read_cosqa(folder: Path) -> Collection:
    """Read Python functions and web queries (Huang et al., ACL 2021)."""
    return _read(folder, "cosqa", "pattern", Aim("nDCG@10", floor=0.54, goal=0.62), _function_name)


def _function_name(line: dict[str, Any]) -> str:
    found = _FUNCTION.search(line["text"])
    return found[1] if found else str(line["text"]).partition("\n")[0]


def _read(folder: Path, name: str, entity_type: str, aim: Aim, named: Callable[[dict[str, Any]], str]) -> Collection:
    corpus, queries, judgements = (folder / each for each in ("corpus.jsonl.gz", "queries-dev.jsonl", "qrels-dev.tsv"))
    texts = tuple(
        Text(line["_id"], "", line["text"], named(line).strip()[:_NAME_LIMIT] or "untitled")
        for line in _identified(corpus).values()
    )
    there, grades = {text.id for text in texts}, _grades(judgements)
    asked = {query: line["text"] for query, line in _identified(queries).items() if query in grades}
    for query in asked:
        if missing := grades[query].keys() - there:
            raise EngrainError(f"{judgements}: {query!r} is answered by {sorted(missing)[:3]}, which {corpus} lacks.")
    lacking = len(grades) - len(asked)
    questions = tuple(Question(query, "", text, grades[query]) for query, text in asked.items())
    return Collection(
        name, "document", "search", texts, questions, aim, entity_type,
        remarks=(f"{lacking} queries that {judgements.name} judges and {queries.name} lacks",) if lacking else (),
    )  # fmt: skip


def _identified(path: Path) -> dict[str, dict[str, Any]]:
    lines: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(json_lines(path), start=1):
        if line["_id"] in lines:
            raise EngrainError(f"{path}, line {number}: the _id {line['_id']!r} comes twice.")
        lines[line["_id"]] = line
    return lines


def _grades(path: Path) -> dict[str, dict[str, int]]:
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    # Ids may begin with a quotation mark, and mean it.
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if (grade := int(float(row["score"]))) > 0:
                grades[row["query-id"]][row["corpus-id"]] = grade
    return dict(grades)
