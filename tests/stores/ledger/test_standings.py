from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import event

from stores.clock import utc_now
from stores.ledger import Ledger, RelationDraft, Standing
from stores.ledger.encoding import to_micros
from tests.stores.ledger.samples import ANN, ORG, OTHER, create, draft, rename

ALL = frozenset({"organization", "private:x"})


def test_a_relation_that_the_caller_may_not_see_retires_nothing(ledger: Ledger) -> None:
    create(ledger, draft("old"), draft("new"))
    with ledger.transaction(ORG, ANN) as tx:
        tx.add_relation(RelationDraft("SUPERSEDES", "new", "old", visibility="private:x"))
    for visibility, superseded in ((ALL, True), (frozenset({"organization"}), False)):
        assert ledger.standings(ORG, ["old"], visibility=visibility)["old"].superseded is superseded
        assert ledger.superseded(ORG, ["old"], visibility=visibility) == ({"old"} if superseded else set())


def test_a_standing_tells_who_may_read_a_record_and_whether_it_was_retired(ledger: Ledger) -> None:
    create(ledger, draft("old", entity_type="rule", visibility="private:x"), draft("new"))
    changed = rename(ledger, "new", "newer")
    with ledger.transaction(ORG, ANN) as tx:
        relation = tx.add_relation(RelationDraft(name="SUPERSEDES", source_id="new", target_id="old"))
    old = ledger.entity(ORG, "old")
    assert old is not None

    assert ledger.standings(ORG, ["old", "new", "absent"], visibility=ALL) == {
        "old": Standing("old", "rule", "private:x", to_micros(old.updated_at), superseded=True),
        "new": Standing("new", "episode", "organization", to_micros(changed.updated_at), superseded=False),
    }
    before = ledger.standings(ORG, ["old"], visibility=ALL, as_of=relation.created_at - timedelta(microseconds=1))
    assert not before["old"].superseded
    assert ledger.standings(ORG, ["old"], visibility=ALL, as_of=old.created_at - timedelta(microseconds=1)) == {}
    assert ledger.standings(OTHER, ["old"], visibility=ALL) == {}
    assert ledger.standings(ORG, [], visibility=ALL) == {}


def test_a_supersession_that_ended_retires_nothing(ledger: Ledger) -> None:
    create(ledger, draft("old"), draft("new"))
    with ledger.transaction(ORG, ANN) as tx:
        relation = tx.add_relation(RelationDraft(name="SUPERSEDES", source_id="new", target_id="old"))
    with ledger.transaction(ORG, ANN) as tx:
        tx.end_relation(relation.id)
    assert not ledger.standings(ORG, ["old"], visibility=ALL)["old"].superseded
    assert ledger.standings(ORG, ["old"], visibility=ALL, as_of=relation.created_at)["old"].superseded


def test_records_are_found_by_id_and_not_by_reading_all_of_an_organization(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.sqlite'}", clock=utc_now)
    reader = ledger._database.reader
    asked: list[tuple[str, Any]] = []
    event.listen(
        reader, "before_cursor_execute", lambda _c, _cursor, statement, values, *_: asked.append((statement, values))
    )
    ledger.standings(ORG, ["old"], visibility=ALL)
    with reader.connect() as connection:
        plans = [
            " ".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values))
            for statement, values in list(asked)
        ]
    ledger.close()
    assert "entities_1 (organization_id=? AND id=?)" in plans[0]
    assert "ix_relations_target (organization_id=? AND target_id=?)" in plans[1]
