"""Reads the requests for documents with sections of their own; the records, and goals, are those of the context packs.

A section that wants nothing is about something of which there is no record: it is to be a gap.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from evals.packs.labels import Split, read_records

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class WantedSection:
    """A section, and the records that it must cite."""

    title: str
    must: frozenset[str]
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class SectionRequest:
    """A document with sections that somebody wants."""

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
    rows = [json.loads(line) for line in (folder / "sections.jsonl").read_text(encoding="utf-8").split("\n") if line]
    found = []
    for row in rows:
        sections = tuple(WantedSection(**{**each, "must": frozenset(each["must"])}) for each in row["sections"])
        if unknown := {key for section in sections for key in section.must} - known:
            raise ValueError(f"{row['id']} names {', '.join(sorted(unknown))}, which is no record.")
        found.append(SectionRequest(**{**row, "sections": sections}))
    return found
