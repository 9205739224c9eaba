"""Entity types, relationship types and workflow states."""

from typing import Literal, get_args

EntityType = Literal[
    "episode", "pattern", "procedure", "guide", "note", "rule", "template", "topic", "task", "epic", "project",
    "source", "document",
    "decision", "plan", "idea", "claim", "artifact", "domain", "session", "error_pattern",
    "tool", "language", "knowledge_source", "config_file", "slash_command", "team", "milestone", "community",
    "preference", "person", "place", "event", "passage",
]  # fmt: skip
ENTITY_TYPES: tuple[EntityType, ...] = get_args(EntityType)

RelationshipType = Literal[
    "APPLIES_TO", "REQUIRES", "CONFLICTS_WITH", "SUPERSEDES", "DOCUMENTED_IN", "ENABLES", "BREAKS", "PART_OF",
    "RELATED_TO", "DERIVED_FROM", "BELONGS_TO", "CONTAINS", "DEPENDS_ON", "BLOCKS", "ASSIGNED_TO", "MEMBER_OF", "OWNS",
    "INVOLVES", "REFERENCES", "ENCOUNTERED", "IMPLEMENTED", "VALIDATED_BY", "USES_PROCEDURE", "CRAWLED_FROM",
    "CHILD_OF", "MENTIONS", "REPLIES_TO", "FORKED_FROM", "SPAWNED_SUBAGENT", "ABOUT", "PRODUCES", "TOUCHES", "DECIDES",
    "SUPPORTS", "CONTRADICTS", "CAPTURED_IN",
]  # fmt: skip
RELATIONSHIP_TYPES: frozenset[str] = frozenset(get_args(RelationshipType))

STATUSES: dict[str, tuple[str, ...]] = {
    "project": ("active", "on_hold", "completed", "archived"),
    "task": ("todo", "backlog", "doing", "blocked", "review", "done", "archived"),
    "epic": ("planning", "in_progress", "blocked", "completed", "archived"),
}

PRIORITIES = ("medium", "critical", "high", "low", "someday")
COMPLEXITIES = ("medium", "trivial", "simple", "complex", "epic")
PROJECT_VISIBILITIES = ("org", "private")
GONE = frozenset({"archived", "retired", "superseded"})
UNVERIFIED = "unverified"
"""Status of a procedure that was reported only: no evidence of success."""
OPERATIONAL_NOTE = "operational_note"
