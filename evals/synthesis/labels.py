"""Requests for documents with sections of their own; records and goals are those of the context packs.

A section that must cite nothing has no record about it, and has to be reported as a gap.
"""

from dataclasses import dataclass
from pathlib import Path

from evals.packs.labels import Split, read_records
from evals.runs import json_rows

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class WantedSection:
    """A section with the records that it must cite."""

    title: str
    must: frozenset[str]
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class SectionRequest:
    """A document with the sections that are wanted."""

    id: str
    split: Split
    project: str
    goal: str
    sections: tuple[WantedSection, ...]


def read_requests(folder: Path = FOLDER) -> list[SectionRequest]:
    """Return the requests in the order of the file.

    Raises:
        ValueError: A section names a record that does not exist.
    """
    known = {record.key for record in read_records()}
    found = []
    for row in json_rows(folder / "sections.jsonl"):
        sections = tuple(WantedSection(**{**each, "must": frozenset(each["must"])}) for each in row["sections"])
        if unknown := {key for section in sections for key in section.must} - known:
            raise ValueError(f"{row['id']} names {', '.join(sorted(unknown))}, which is no record.")
        found.append(SectionRequest(**{**row, "sections": sections}))
    return found
