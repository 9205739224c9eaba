"""Candidates that wait for a review, stored as reflection stores them."""

from typing import Any

from auth.visibility import members_key, memory_key, private_key, queue_key, team_key
from stores.clock import new_id
from stores.ledger import content_hash
from stores.records import ORGANIZATION, RAW_MEMORY, Capture, EntityDraft, JsonObject
from tests.people import Person
from tools.frame.threads import in_thread

DECIDED = "We decided to flush the walrus cache before each granite release."


def memory_place(who: Person, scope: str, key: str | None) -> str:
    keys = {"private": private_key(who.user_id), "organization": ORGANIZATION}
    named = {"project": members_key, "team": team_key}
    return memory_key(named[scope](str(key)) if scope in named else keys[scope])


async def noted(who: Person, scope: str = "private", key: str | None = None, text: str = "Notes.") -> str:
    kept = await who.call("store_raw_memory", raw_content=text, memory_scope=scope, scope_key=key)
    return str(kept["id"])


async def waiting(
    who: Person, scope: str = "private", key: str | None = None, *, sources: list[str] | None = None, **said: Any
) -> str:
    raw = [await noted(who, scope, key)] if sources is None else sources
    candidate: JsonObject = {
        "kind": "decision", "title": str(said.get("content", "Flush the walrus cache"))[:60], "content": DECIDED,
        "reason": "“We decided” says so.", "confidence": 0.86, "tags": ["reflection", "decision"],
        "metadata": {"span": {"start": 0, "end": 5}, "intent": "build"}, "raw_source_ids": list(raw),
        "suggested_memory_scope": scope, "suggested_scope_key": key, "review_state": "pending", "persisted_id": None,
        "claim_records": [], "reflection_findings": [], "relationship_records": [], "sensitivity_flags": [],
        "domain": None, "project": key if scope == "project" else None, "related_to": [], "task_ids": [], **said,
    }  # fmt: skip
    candidate = {name: value for name, value in candidate.items() if value != "absent"}
    memory_id, content = new_id(RAW_MEMORY), str(candidate.get("content"))
    draft = EntityDraft(
        id=memory_id, entity_type=RAW_MEMORY, name=str(candidate.get("title")), content=content,
        metadata={"capture_mode": "reflect"}, visibility=queue_key(memory_place(who, scope, key)), memory_scope=scope,
        scope_key=key if scope != "private" else who.user_id, project_id=key if scope == "project" else None,
    )  # fmt: skip

    def write() -> None:
        with who.app.ledger.transaction(who.organization_id, who.user_id) as tx:
            said_by = raw[0] if raw else memory_id
            tx.memories.create_memory(
                draft, Capture(said_by, "reflect", tx.now, {}, None, content_hash(content), candidate=candidate)
            )

    await in_thread(write)
    return memory_id
