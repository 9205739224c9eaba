"""Where the outcome of a measurement goes."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from evals.machine import facts


def deliver(
    report: str,
    document: Mapping[str, object],
    *,
    say: Callable[[str], None],
    json_file: Path | None,
    markdown_file: Path | None,
) -> None:
    """Say a report in Markdown; write it, and the figures as JSON with the machine that they are from, where wanted."""
    say(report)
    if markdown_file:
        markdown_file.write_text(report, encoding="utf-8")
    if json_file:
        json_file.write_text(json.dumps({"machine": facts(), **document}, indent=2), encoding="utf-8")
