"""Commit logs of public projects."""

from pathlib import Path
from typing import Any

from evals.datasets.collection import json_lines
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
    for row in json_lines(log):
        ranges.setdefault((row["from"], row["to"]), []).append(row)
    found: dict[str, dict[str, Any]] = {}
    for rows in ranges.values():
        for row in reversed(rows):
            found.setdefault(row["sha"], row)
    return list(found.values())
