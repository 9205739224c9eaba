"""Records of the demo, and questions about them."""

from typing import Any

Record = dict[str, Any]

QUESTIONS = (
    "Which database keeps the ledger, and why that one?",
    "Can I safely repeat a request when the network failed?",
)
"""The first is about a decision that retired another, the second in quite other words than its answer."""
REPOSITORY = "How do I back up and restore the ledger?"
OFF_TOPIC = "How long does sourdough bread rest before baking?"
AGENT_QUESTION = "Who may read what I remember in private?"
LOCKED = 1
"""Place of the error pattern in `RECORDS`."""

RECORDS: tuple[Record, ...] = (
    {
        "entity_type": "pattern",
        "name": "Retry a write under the same Idempotency-Key",
        "content": "Make one UUID per write and send it as Idempotency-Key. If the connection breaks before the answer "
        "comes, send the very same request again: the service repeats its first answer and applies nothing twice. "
        "Never make a new key for a retry.",
        "category": "reliability",
        "languages": ["python", "typescript"],
    },
    {
        "entity_type": "error_pattern",
        "name": "`database is locked` when two processes write",
        "content": "Symptom: OperationalError: database is locked, under load and only in production. Cause: a second "
        "worker process opened the same SQLite file and began its transaction with a read. Fix: one process "
        "owns the file, and every write transaction starts with BEGIN IMMEDIATE.",
        "category": "storage",
        "languages": ["sql"],
    },
    {
        "entity_type": "rule",
        "name": "No credentials in logs",
        "content": "Log lines carry the request id, the route template and the status. They never carry tokens, "
        "cookies, query strings or bodies: a log travels further than the person who reads it first.",
        "category": "security",
    },
    {
        "entity_type": "procedure",
        "name": "Rotate the key that signs tokens",
        "content": "1. Make a new secret of at least 32 random characters. 2. Put it into the deployment's secret "
        "store. 3. Restart the service: everybody is signed out and signs in again. 4. Delete the old secret.",
        "category": "security",
    },
)

OLD_DECISION: Record = {
    "title": "The ledger lives in DuckDB",
    "entity_type": "decision",
    "content": "We keep the ledger in DuckDB, because reports read it directly and one engine is less to learn.",
    "category": "storage",
}

NEW_DECISION: Record = {
    "title": "The ledger lives in SQLite",
    "entity_type": "decision",
    "content": "We keep the ledger in SQLite in WAL mode with full synchronisation. A durable one-row insert takes a "
    "fifth of a millisecond there and more than one in DuckDB, which also refuses concurrent updates of one row. "
    "Reports still run on DuckDB, from an export.",
    "category": "storage",
}
"""Supersedes the old decision and refers to the error pattern; the demo adds the ids."""
