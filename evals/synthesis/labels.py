"""Requests for documents about the records of the context packs.

A section without records must be reported as a gap.
"""

from dataclasses import dataclass
from pathlib import Path

from evals.datasets.collection import json_lines
from evals.packs.labels import Split, read_records

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class WantedSection:
    title: str
    must: frozenset[str]
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class SectionRequest:
    id: str
    split: Split
    project: str
    goal: str
    sections: tuple[WantedSection, ...]


def read_requests(folder: Path = FOLDER) -> list[SectionRequest]:
    """Return the requests.

    Raises:
        ValueError: A record is unknown.
    """
    known = {record.key for record in read_records()}
    found = []
    for row in json_lines(folder / "sections.jsonl"):
        sections = tuple(WantedSection(**{**each, "must": frozenset(each["must"])}) for each in row["sections"])
        if unknown := {key for section in sections for key in section.must} - known:
            raise ValueError(f"{row['id']} names {', '.join(sorted(unknown))}, which is no record.")
        found.append(SectionRequest(**{**row, "sections": sections}))
    return found
