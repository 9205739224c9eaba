"""SciFact and CoSQA: a corpus, queries and judgements in BEIR form (Thakur et al., NeurIPS 2021)."""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evals.datasets.collection import Aim, Collection, Question, Text, first_of, json_lines
from stores.errors import EngrainError

CORPUS = ("corpus.jsonl.gz", "corpus.jsonl")
QUERIES = ("queries-dev.jsonl", "queries.jsonl.gz", "queries.jsonl")
JUDGEMENTS = ("qrels-dev.tsv", "qrels/dev.tsv", "qrels/test.tsv", "qrels/train.tsv")
"""The first that is there is read: a part cut for development has files of its own, BEIR publishes the others."""
_FUNCTION = re.compile(r"\bdef\s+(\w+)")
_COLUMNS = ("query-id", "corpus-id", "score")
_WHOLE = re.compile(r"-?\d{1,9}(\.0*)?")
_NAME_LIMIT = 200


def read_scifact(folder: Path) -> Collection:
    """Read scientific abstracts and the claims that they support or refute (Wadden et al., EMNLP 2020)."""
    texts = tuple(
        Text(line["_id"], "", line["text"], str(line.get("title") or "").strip()[:_NAME_LIMIT] or "untitled")
        for _, line in _identified(first_of(folder, CORPUS))
    )
    return _collection("scifact", "document", Aim("nDCG@10", floor=0.73, goal=0.77), texts, folder)


def read_cosqa(folder: Path) -> Collection:
    """Read Python functions and the web queries that each answers (Huang et al., ACL 2021)."""
    texts = tuple(
        Text(line["_id"], "", line["text"], _function_name(line)) for _, line in _identified(first_of(folder, CORPUS))
    )
    return _collection("cosqa", "pattern", Aim("nDCG@10", floor=0.54, goal=0.62), texts, folder)


def _collection(name: str, entity_type: str, aim: Aim, texts: tuple[Text, ...], folder: Path) -> Collection:
    questions, remarks = _questions(folder, texts)
    files = (first_of(folder, names).relative_to(folder).as_posix() for names in (CORPUS, QUERIES, JUDGEMENTS))
    return Collection(
        name=name,
        unit="document",
        door="search",
        texts=texts,
        questions=questions,
        aim=aim,
        entity_type=entity_type,
        files=tuple(files),
        remarks=remarks,
    )


def _function_name(line: dict[str, Any]) -> str:
    found = _FUNCTION.search(line["text"])
    return (found[1] if found else str(line["text"]).partition("\n")[0]).strip()[:_NAME_LIMIT] or "untitled"


def _identified(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read lines with their numbers; each has an id of its own.

    Raises:
        EngrainError: One has none, or that of another; of two only one would be found.
    """
    lines: dict[str, int] = {}
    for number, line in enumerate(json_lines(path), start=1):
        name = line["_id"]
        if not isinstance(name, str) or not name:
            raise EngrainError(f"{path}, line {number}: the _id {name!r} is no text, as those of judgements are.")
        if (first := lines.setdefault(name, number)) != number:
            raise EngrainError(f"{path}, line {number}: line {first} has the _id {name!r} already.")
        yield number, line


def _questions(folder: Path, texts: Sequence[Text]) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Read the queries that are judged, and what there is to say of judgements of others."""
    # Of an empty corpus the whole suite says that it is empty.
    judgements, queries = first_of(folder, JUDGEMENTS), first_of(folder, QUERIES)
    grades, there = _grades(judgements), {text.id for text in texts}
    found, unknown = [], dict(grades)
    for number, line in _identified(queries):
        if (name := line["_id"]) not in grades:
            continue
        del unknown[name]
        if not isinstance(line["text"], str) or not line["text"].strip():
            raise EngrainError(f"{queries}, line {number}: the query {name!r} asks nothing: {line['text']!r}.")
        if there and (missing := [one for one in grades[name] if one not in there]):
            shown = ", ".join(map(repr, missing[:3]))
            raise EngrainError(
                f"{judgements}: the query {name!r} is answered by {shown}, which {first_of(folder, CORPUS)} lacks."
            )
        found.append(Question(name, "", line["text"], grades[name]))
    lacking = f"queries that {judgements.name} judges and {queries.name} lacks, which are left out: {len(unknown)}"
    return tuple(found), (lacking,) if unknown else ()


def _grades(path: Path) -> dict[str, dict[str, int]]:
    """Read judgements: above 0 a text answers a query.

    Raises:
        EngrainError: A column or a score is missing, or a score is no whole number.
    """
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    # Ids may begin with a quotation mark, and mean it.
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if missing := [name for name in _COLUMNS if name not in (rows.fieldnames or ())]:
            raise EngrainError(
                f"{path}, line 1: no column {', '.join(missing)}. It names the columns {', '.join(_COLUMNS)}, with"
                " a tab between any two."
            )
        for row in rows:
            query, text, score = (row[name] for name in _COLUMNS)
            if not query or not text or not _WHOLE.fullmatch(score or ""):
                raise EngrainError(f"{path}, line {rows.line_num}: {row} is no query, text and whole number.")
            if (grade := int(float(score))) > 0:
                grades[query][text] = grade
    return dict(grades)
