"""Commit logs of public projects."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evals.options import Options, default_data

_BEGINNING, _SUFFIX = "gitlog_", ".jsonl.gz"
PATTERN = f"{_BEGINNING}*{_SUFFIX}"


def log_folder(options: Options) -> Path | None:
    data = options.data or default_data()
    return data / "corpora" if data is not None and (data / "corpora").is_dir() else data


def project_of(log: Path) -> str:
    return log.name.removeprefix(_BEGINNING).removesuffix(_SUFFIX)


def oldest_first(log: Path) -> list[dict[str, Any]]:
    """Return distinct rows; a file has its ranges oldest first, each newest first."""
    ranges: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in _rows(log):
        ranges.setdefault((row["from"], row["to"]), []).append(row)
    found: dict[str, dict[str, Any]] = {}
    for rows in ranges.values():
        for row in reversed(rows):
            found.setdefault(row["sha"], row)
    return list(found.values())


def _rows(log: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(log, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
