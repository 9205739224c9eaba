from datetime import UTC, datetime

from stores.ledger import Ledger, content_hash
from stores.records import Capture, RawMemory
from tests.stores.ledger.samples import ANN, ORG, OTHER, draft

MINE = "memory:private:ann"
TEXT = "caf\u00e9 e\u0301\r\n\U0001f9ed "


def capture(memory_id: str, text: str = TEXT, day: int = 1, **changes: object) -> Capture:
    fields: dict[str, object] = {
        "source_id": memory_id, "capture_surface": "api", "captured_at": datetime(2026, 1, day, tzinfo=UTC),
        "provenance": {"file": "\u00e9"}, "agent_id": None, "content_hash": content_hash(text),
    }  # fmt: skip
    return Capture(**(fields | changes))  # type: ignore[arg-type]


def keep(ledger: Ledger, memory_id: str, text: str = TEXT, *, visibility: str = MINE, **changes: object) -> RawMemory:
    text_of = draft(memory_id, content=text, visibility=visibility, memory_scope="private")
    with ledger.transaction(ORG, ANN) as tx:
        return tx.memories.create_memory(text_of, capture(memory_id, text, **changes))  # type: ignore[arg-type]


def test_the_feed_tells_of_the_text_and_of_the_capture(ledger: Ledger) -> None:
    keep(ledger, "m1")
    told = [(each.kind, each.operation, each.record_id, each.visibility) for each in ledger.feed.changes(ORG, 0, 9)]
    assert told == [("entity", "create", "m1", MINE), ("capture", "create", "m1", MINE)]
    assert TEXT not in str(ledger.feed.changes(ORG, 0, 9))


def test_the_same_words_and_candidates_that_wait_are_found_where_they_are(ledger: Ledger) -> None:
    said = {"candidate": {"kind": "decision"}}
    keep(ledger, "m1")
    keep(ledger, "m2", day=2, **said)
    keep(ledger, "m3", visibility="memory:private:bob", **said)
    with ledger.transaction(OTHER, ANN) as tx:
        assert tx.memories.same_memory(MINE, TEXT) is None
    with ledger.transaction(ORG, ANN) as tx:
        found = tx.memories.same_memory(MINE, TEXT)
        assert found is not None
        assert found.entity.id == "m1"
        assert tx.memories.same_memory(MINE, TEXT + ".") is None
        assert [each.entity.id for each in tx.memories.waiting_candidates(MINE, [TEXT, "other"], limit=5)] == ["m2"]
