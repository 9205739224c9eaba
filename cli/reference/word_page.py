"""Reference of entity types, relationship types and states."""

from cli.reference.markdown import code, table
from tools.records.entity_types import (
    COMPLEXITIES,
    ENTITY_TYPES,
    PRIORITIES,
    PROJECT_VISIBILITIES,
    RELATIONSHIP_TYPES,
    STATUSES,
)

MEANINGS = {
    "episode": "What was learned at some time: an insight, a discovery, a debugging note. The default.",
    "pattern": "A coding pattern.",
    "procedure": "A guide in steps.",
    "guide": "Standards of a project.",
    "note": "A note without a form.",
    "rule": "A guideline that is to be followed.",
    "template": "A template for code.",
    "topic": "A grouping of ideas.",
    "task": "A piece of work.",
    "epic": "An initiative that groups tasks.",
    "project": "What epics and tasks belong to.",
    "source": "Where documents come from.",
    "document": "One chunk of an ingested document.",
    "decision": "What was decided, and why.",
    "error_pattern": "A failure that comes back, with its cause and its cure.",
}


def page() -> str:
    types = [[code(name), MEANINGS.get(name, "")] for name in ENTITY_TYPES if name in MEANINGS]
    others = [code(name) for name in ENTITY_TYPES if name not in MEANINGS]
    states = [[code(kind), ", ".join(map(code, words)), code(words[0])] for kind, words in STATUSES.items()]
    return (
        "\n\n".join(
            [
                "# Words",
                "## Entity types",
                table(["Type", "What it is"], types),
                f"Also accepted: {', '.join(others)}.",
                "## Relationship types",
                "In `related_to` one may stand before an id: `supersedes:<id>`. A plain id means `RELATED_TO`.",
                ", ".join(code(name) for name in sorted(RELATIONSHIP_TYPES)) + ".",
                "## States",
                "In `metadata.status` of the types that have a workflow. `archived` is final for tasks and epics.",
                table(["Type", "States", "Default"], states),
                f"Tasks and epics have `metadata.priority`, by default the first: {', '.join(map(code, PRIORITIES))}.",
                f"Tasks have `metadata.complexity`, by default the first: {', '.join(map(code, COMPLEXITIES))}.",
                f"Projects have `metadata.visibility`, by default `org`: {', '.join(map(code, PROJECT_VISIBILITIES))}.",
            ]
        )
        + "\n"
    )
