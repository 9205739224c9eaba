from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from stores.clock import utc_now
from stores.ledger import Ledger, RelationDraft, Standing
from stores.ledger.encoding import from_micros, to_micros
from stores.ledger.groups import Facets
from stores.records import Entity, JsonValue
from tests.stores.ledger.samples import ANN, ORG, OTHER, SteppingClock, create, draft, organization, rename

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
        "old": Standing(
            *("old", "rule", "private:x", to_micros(old.updated_at), to_micros(old.created_at)),
            recent_us=to_micros(old.updated_at),
            facets=Facets("rule", "", "", "", "", "", None, None, None),
            superseded=True,
        ),
        "new": Standing(
            *("new", "episode", "organization", to_micros(changed.updated_at), to_micros(changed.created_at)),
            recent_us=to_micros(changed.updated_at),
            facets=Facets("episode", "", "", "", "", "", None, None, None),
        ),
    }
    before = ledger.standings(ORG, ["old"], visibility=ALL, as_of=relation.created_at - timedelta(microseconds=1))
    assert not before["old"].superseded
    assert ledger.standings(ORG, ["old"], visibility=ALL, as_of=old.created_at - timedelta(microseconds=1)) == {}
    assert ledger.standings(OTHER, ["old"], visibility=ALL) == {}
    assert ledger.standings(ORG, [], visibility=ALL) == {}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("2021-03-04T05:06:07Z", "2021-03-04T05:06:07+00:00"),
        ("2021", "2021-12-31T23:59:59.999999+00:00"),
        ("9999", None),
        ("the other day", None),
        (["2021"], None),
    ],
)
def test_what_was_not_changed_is_as_old_as_its_capture_time_says(
    ledger: Ledger, said: JsonValue, expected: str | None
) -> None:
    create(ledger, draft("told", metadata={"captured_at": said}), draft("quoted", content='"captured_at": "2021"'))
    told = ledger.entity(ORG, "told")
    assert told is not None
    wanted = told.created_at if expected is None else datetime.fromisoformat(expected)
    found = ledger.standings(ORG, ["told", "quoted"], visibility=ALL)
    assert (from_micros(found["told"].recent_us), found["quoted"].recent_us) == (wanted, found["quoted"].created_us)

    changed = rename(ledger, "told", "told again")
    again = ledger.standings(ORG, ["told"], visibility=ALL)["told"]
    assert again.recent_us == to_micros(changed.updated_at) == again.updated_us


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
    ledger.create_organization(organization(ORG, is_personal=False))
    create(ledger, draft("old"), draft("new"))
    supersede(ledger, "new", "old")
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
            if "json_each" in statement
        ]
    ledger.close()
    assert "entities_1 (organization_id=? AND id=?)" in plans[0]
    assert "ix_relations_superseding (organization_id=? AND target_id=?" in plans[1]


def seen(ledger: Ledger, *ids: str) -> dict[str, tuple[str, int]]:
    found = ledger.standings(ORG, ids, visibility=ALL)
    return {each: (standing.visibility, standing.updated_us) for each, standing in found.items()}


def truth(ledger: Ledger, *ids: str) -> dict[str, tuple[str, int]]:
    return {
        each: (entity.visibility, to_micros(entity.updated_at)) for each, entity in ledger.entities(ORG, ids).items()
    }


def test_what_is_remembered_follows_every_change(ledger: Ledger, populated_url: str, clock: SteppingClock) -> None:
    ids = ("a", "b", "c", "d")
    create(ledger, draft("a"), draft("b"), draft("c"))
    assert seen(ledger, *ids) == truth(ledger, *ids)
    other = Ledger.open(populated_url, clock=clock)

    def hide(entity: Entity) -> Entity:
        return replace(entity, visibility="private:x", memory_scope="private")

    def rewrite(entity: Entity) -> Entity:
        return replace(entity, content=f"{entity.content}!")

    for write in (
        lambda tx: tx.update_entity("a", hide),
        lambda tx: tx.delete_entity("b"),
        lambda tx: tx.create_entity(draft("d")),
        lambda tx: [tx.update_entity("c", rewrite), tx.update_entity("c", hide), tx.update_entity("c", rewrite)],
    ):
        with other.transaction(ORG, ANN) as tx:
            write(tx)
        for _ in range(2):
            assert seen(ledger, *ids) == truth(ledger, *ids)
    other.close()


def test_what_is_remembered_survives_neither_many_changes_nor_a_full_memory(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stores.ledger.standings.MOST_CHANGES", 2)
    monkeypatch.setattr("stores.ledger.known.MOST_RECORDS", 3)
    ids = tuple("abcdef")
    create(ledger, *map(draft, ids))
    assert seen(ledger, *ids) == truth(ledger, *ids)
    with ledger.transaction(ORG, ANN) as tx:
        for each in ids:
            tx.update_entity(each, lambda entity: replace(entity, content="new"))
    assert seen(ledger, *ids) == truth(ledger, *ids)


def supersede(ledger: Ledger, source: str, target: str) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.add_relation(RelationDraft(name="SUPERSEDES", source_id=source, target_id=target))


def test_a_supersession_by_another_process_is_seen_at_once(
    ledger: Ledger, populated_url: str, clock: SteppingClock
) -> None:
    create(ledger, *map(draft, "abcd"))
    other = Ledger.open(populated_url, clock=clock)
    keys = frozenset({"organization"})
    expected: set[str] = set()
    assert ledger.superseded(ORG, "abcd", visibility=keys) == expected
    for source, target in ("ab", "bc", "ad"):
        supersede(other, source, target)
        expected.add(target)
        for _ in range(2):
            assert ledger.superseded(ORG, "abcd", visibility=keys) == expected
            assert ledger.superseded(ORG, "a", visibility=keys) == set()
    with other.transaction(ORG, ANN) as tx:
        tx.delete_entity("b")
    assert ledger.superseded(ORG, "abcd", visibility=keys) == {"d"}
    other.close()


def test_more_supersessions_than_are_remembered_are_asked_for(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores.ledger.standings.MOST_RECORDS", 1)
    create(ledger, *map(draft, "abc"))
    for target in "bc":
        supersede(ledger, "a", target)
    assert ledger.superseded(ORG, "abc", visibility=ALL) == {"b", "c"}


def test_one_organization_never_learns_what_another_has(ledger: Ledger) -> None:
    create(ledger, draft("a"))
    seen(ledger, "a")
    assert ledger.standings(OTHER, ["a"], visibility=ALL) == {}
    assert ledger.standings("absent", ["a"], visibility=ALL) == {}


def names_at(ledger: Ledger, *ids: str) -> dict[str, str]:
    return {each: brief.name for each, brief in ledger.look(ORG).briefs(ids).items()}


def test_briefs_and_labels_that_are_remembered_follow_every_change(ledger: Ledger) -> None:
    create(ledger, draft("a", tags=("Red",)), draft("b", tags=("blue", "red")), draft("c"))

    def labelled() -> tuple[set[str], set[str]]:
        look = ledger.look(ORG)
        return look.labelled("tag", ["red"]), look.labelled("tag", ["RED", "blue", "absent"])

    for _ in range(2):
        assert names_at(ledger, "a", "b", "gone") == {"a": "a", "b": "b"}
        assert labelled() == ({"a", "b"}, {"a", "b"})
    with ledger.transaction(ORG, ANN) as tx:
        tx.update_entity("a", lambda entity: replace(entity, name="new", tags=("blue",)))
        tx.update_entity("c", lambda entity: replace(entity, tags=("red",)))
        tx.delete_entity("b")
        tx.create_entity(draft("d", tags=("red",)))
    for _ in range(2):
        assert names_at(ledger, "a", "b", "d") == {"a": "new", "d": "d"}
        assert labelled() == ({"c", "d"}, {"a", "c", "d"})
    assert ledger.look(OTHER).briefs(["a"]) == {}
    assert ledger.look(OTHER).labelled("tag", ["red"]) == set()
    assert ledger.look("org_none").briefs(["a"]) == {}


def test_a_page_that_was_shown_is_not_read_again(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores.ledger.known.MOST_BRIEFS", 2)
    create(ledger, draft("a"), draft("b"), draft("c", description="long " * 500))
    names_at(ledger, "a", "c")
    read: list[list[str]] = []
    whole = type(ledger)._brief_rows

    def counting(self: Any, organization_id: str, entity_ids: Any) -> Any:
        read.append(list(entity_ids))
        return whole(self, organization_id, read[-1])

    monkeypatch.setattr(type(ledger), "_brief_rows", counting)
    names_at(ledger, "a")
    names_at(ledger, "a", "b", "c")
    create(ledger, draft("d"))
    names_at(ledger, "d", "a")
    names_at(ledger, "b")
    assert read == [["b", "c"], ["d"], ["b"]]


def test_a_label_of_very_many_records_is_not_remembered(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores.ledger.known.MOST_LABELLED", 1)
    monkeypatch.setattr("stores.ledger.known.MOST_LABELS", 1)
    create(ledger, draft("a", tags=("red",)), draft("b", tags=("red", "one", "two")))
    for _ in range(2):
        found = {word: ledger.look(ORG).labelled("tag", [word]) for word in ("red", "one", "two")}
        assert found == {"red": {"a", "b"}, "one": {"b"}, "two": {"b"}}


def test_a_label_is_read_anew_after_many_changes(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores.ledger.known.MOST_CHANGED", 1)
    create(ledger, draft("a", tags=("red",)), draft("b"), draft("c"))
    assert ledger.look(ORG).labelled("tag", ["red"]) == {"a"}
    with ledger.transaction(ORG, ANN) as tx:
        for each in "abc":
            tx.update_entity(each, lambda entity: replace(entity, tags=() if entity.id == "a" else ("red",)))
    look = ledger.look(ORG)
    assert ledger._known.labelled(ORG, ledger.head(ORG), ("tag", "red")) is None
    assert look.labelled("tag", ["red"]) == {"b", "c"}
