"""Facts against a plain model: writes, supersessions, ends and deletions at random, while the clock jumps about."""

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from stores.errors import Conflict, EngrainError, InvalidRequest, ValidationFailed
from tests.indexes import differences
from tests.people import person
from tests.stores.graph.drafts import ENGINE, ENGINE_VARIABLE, OTHER_ENGINE, run_on_the_other_engine
from tests.tools.relation_facts import Clock, Fact, Model, Thing, row
from tools.app import App, open_app
from tools.catalogue import by_name
from tools.frame.execute import execute
from tools.frame.operation import Call
from tools.frame.parsing import parse
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings

NAMES = st.sampled_from(("RELATED_TO", "DEPENDS_ON", "SUPERSEDES", "PART_OF", "PART_OF", "CHILD_OF"))
LINKS = st.sampled_from((None, "SUPERSEDES", "DEPENDS_ON", "RELATED_TO"))
TYPES = st.sampled_from(("task", "epic", "topic"))
STEPS = st.sampled_from((0, 0, 1, 60, 86_400, -1, -3_600, -86_400))
DAYS = st.one_of(st.none(), st.integers(-3, 3))
PICK = st.integers(0, 6)
_serial = count()


@dataclass(frozen=True)
class World:
    portal: BlockingPortal
    app: App
    clock: Clock

    def run(self, function: Callable[..., Awaitable[Any]], *args: Any, **fields: Any) -> Any:
        async def call() -> Any:
            return await function(*args, **fields)

        return self.portal.call(call)


class Facts(Model, RuleBasedStateMachine):
    world: World

    @initialize()
    def begin(self) -> None:
        self.world.clock.now = datetime(2026, 6, 1, 12, tzinfo=UTC)
        self.owner = self.world.run(person, self.world.app, f"owner{next(_serial)}")
        self.principal = self.world.app.accounts.authenticate(self.owner.token)
        self.things = {}
        self.facts = []
        self.moments = {self.now}
        for kind in ("topic", "topic", "epic", "task"):
            made = self.call("create_entity", name=f"first {kind}", entity_type=kind)["id"]
            self.things[made] = Thing(kind)

    @property
    def now(self) -> datetime:
        return self.world.clock.now

    def call(self, operation: str, **fields: Any) -> dict[str, Any]:
        entry = by_name[operation]
        request = parse(entry.request, fields)
        return dict(self.world.run(execute, self.world.app, entry, Call(self.principal), request).body())

    def one(self, pick: int, *kinds: str) -> str | None:
        found = [each for each, thing in self.things.items() if not kinds or thing.kind in kinds]
        return found[pick % len(found)] if found else None

    def expect(self, refusal: type[EngrainError] | None, operation: str, **fields: Any) -> dict[str, Any] | None:
        if refusal is None:
            return self.call(operation, **fields)
        with pytest.raises(refusal):
            self.call(operation, **fields)
        return None

    def seen_now(self, entity_id: str) -> list[dict[str, Any]]:
        relations: list[dict[str, Any]] = self.call(
            "list_relations", entity_id=entity_id, direction="outgoing", include_expired=True, limit=200
        )["relations"]
        return relations

    def adopt(self, source: str, stated: list[tuple[str, str]]) -> None:
        known = {fact.id for fact in self.facts}
        fresh = [each for each in self.seen_now(source) if each["id"] not in known]
        wanted = [pair for pair in dict.fromkeys(stated) if self.same(pair[0], source, pair[1], (None, None)) is None]
        assert sorted((each["name"], each["target_id"]) for each in fresh) == sorted(wanted)
        for name, target in wanted:
            given = next(each["id"] for each in fresh if (each["name"], each["target_id"]) == (name, target))
            fact = Fact(given, name, source, target, self.now, self.now, None)
            for old in self.rivals(fact):
                self.close(old, fact.valid)
            self.facts.append(fact)

    # Writes.

    @rule(step=STEPS)
    def turn_the_clock(self, step: int) -> None:
        self.world.clock.now += timedelta(seconds=step)
        self.moments.add(self.now)

    @rule(kind=TYPES, pick=PICK, link=LINKS, held=st.booleans())
    def create(self, kind: str, pick: int, link: str | None, held: bool) -> None:
        other, stated = self.one(pick), []
        thing = Thing(kind)
        if link and other:
            stated.append((link, other))
        if kind == "task" and held:
            thing.epic = self.one(pick, "epic")
            thing.needs = [each] if (each := self.one(pick + 1, "task", "epic")) else []
        stated += [("PART_OF", thing.epic)] if thing.epic else []
        stated += [("DEPENDS_ON", each) for each in thing.needs]
        made = self.call(
            "create_entity",
            name=f"{kind} {len(self.things)}",
            entity_type=kind,
            related_to=[f"{link.lower()}:{other}"] if link and other else [],
            metadata={"epic_id": thing.epic, "depends_on": thing.needs} if kind == "task" else {},
        )["id"]
        self.things[made] = thing
        self.adopt(made, stated)

    def refusal_of(self, fresh: Fact, same: Fact | None, ended: list[Fact]) -> type[EngrainError] | None:
        if fresh.invalid is not None and fresh.invalid <= fresh.valid:
            return ValidationFailed
        if fresh.source == fresh.target:
            return InvalidRequest
        if same is None and any(self.things[old.source].states(old.name, old.target) for old in ended):
            return InvalidRequest
        lasts = (same or fresh).lasts(self.now)
        circle = lasts and self.closes_a_circle(fresh.name, fresh.source, fresh.target)
        return InvalidRequest if circle else None

    @precondition(lambda self: len(self.things) > 1)
    @rule(name=NAMES, a=PICK, b=PICK, since=DAYS, until=DAYS)
    def add(self, name: str, a: int, b: int, since: int | None, until: int | None) -> None:
        source, target = self.one(a), self.one(b)
        assert source is not None
        assert target is not None
        valid = None if since is None else self.now + timedelta(days=since)
        invalid = None if until is None else self.now + timedelta(days=until)
        fresh = Fact("", name, source, target, self.now, valid or self.now, invalid)
        next_at = None if valid is None else self.make_way(fresh)
        same = self.same(name, source, target, (valid, invalid if valid is None else fresh.invalid))
        ended = self.rivals(fresh, dated=valid is not None)
        refusal = self.refusal_of(fresh, same, ended)
        dates = {"valid_at": valid and valid.isoformat(), "invalid_at": invalid and invalid.isoformat()}
        given = {key: value for key, value in dates.items() if value is not None}
        fields = {"source_id": source, "name": name, "target_id": target, **given}
        if (answer := self.expect(refusal, "add_relation", sync=False, **fields)) is None:
            return
        assert answer["is_new"] == (same is None)
        if same is not None:
            assert answer["id"] == same.id
            return
        fresh.id = answer["id"]
        ended = ended or self.told_between(fresh, next_at)
        assert set(answer["ended"]) == {old.id for old in ended}
        for old in ended:
            self.close(old, fresh.valid)
        self.facts.append(fresh)

    @precondition(lambda self: self.facts)
    @rule(pick=PICK, until=DAYS)
    def end(self, pick: int, until: int | None) -> None:
        fact = self.facts[pick % len(self.facts)]
        invalid = None if until is None else fact.valid + timedelta(days=until)
        has_ended = fact.expired is not None or not fact.lasts(self.now)
        refusal: type[EngrainError] | None = None
        if not has_ended:
            if self.things[fact.source].states(fact.name, fact.target):
                refusal = InvalidRequest
            elif invalid is not None and invalid < fact.valid:
                refusal = ValidationFailed
            else:
                refusal = self.refusal_to_last(fact, invalid or self.now)
        given = {} if invalid is None else {"invalid_at": invalid.isoformat()}
        answer = self.expect(refusal, "end_relation", relation_id=fact.id, sync=False, **given)
        if answer is not None and not has_ended:
            self.close(fact, invalid or self.now)

    def refusal_to_last(self, fact: Fact, until: datetime | None) -> type[EngrainError] | None:
        if fact.invalid is None or (until is not None and until <= fact.invalid):
            return None
        next_at = self.make_way(replace(fact, invalid=until))
        if next_at is not None and (until is None or until > next_at):
            return Conflict
        return InvalidRequest if self.closes_a_circle(fact.name, fact.source, fact.target) else None

    @precondition(lambda self: self.facts)
    @rule(pick=PICK)
    def withdraw(self, pick: int) -> None:
        announced = [fact for fact in self.facts if fact.expired is None and fact.invalid is not None]
        fact = (announced or self.facts)[pick % len(announced or self.facts)]
        refusal: type[EngrainError] | None = None
        if fact.expired is not None or not fact.lasts(self.now):
            refusal = Conflict
        elif self.things[fact.source].states(fact.name, fact.target):
            refusal = InvalidRequest
        else:
            refusal = self.refusal_to_last(fact, None)
        answer = self.expect(refusal, "end_relation", relation_id=fact.id, sync=False, withdraw=True)
        if answer is not None and fact.invalid is not None:
            fact.end(self.now, None, closed=False)

    @rule(pick=PICK, epic=st.one_of(st.none(), PICK), needs=st.lists(PICK, max_size=2))
    def change_fields(self, pick: int, epic: int | None, needs: list[int]) -> None:
        task = self.one(pick, "task")
        if task is None:
            return
        wanted = [each for number in needs if (each := self.one(number, "task", "epic"))]
        after = Thing("task", None if epic is None else self.one(epic, "epic"), list(dict.fromkeys(wanted)))
        before = self.things[task]
        left = {("DEPENDS_ON", each) for each in before.needs if each not in after.needs}
        left |= {("PART_OF", before.epic)} if before.epic and before.epic != after.epic else set()
        kept = deepcopy(self.facts)
        for fact in self.facts:
            stated_so_far = fact.source == task and (fact.name, fact.target) in left
            if stated_so_far and fact.expired is None and fact.lasts(self.now):
                self.close(fact, self.now)
        new = [each for each in after.needs if each not in before.needs]
        refused = any(self.closes_a_circle("DEPENDS_ON", task, each) for each in new)
        fields = {"entity_id": task, "metadata": {"epic_id": after.epic, "depends_on": after.needs}}
        self.expect(InvalidRequest if refused else None, "update_entity", **fields)
        if refused:
            self.facts = kept
            return
        self.things[task] = after
        stated = [("PART_OF", after.epic)] if after.epic and after.epic != before.epic else []
        self.adopt(task, [*stated, *(("DEPENDS_ON", each) for each in new)])

    @precondition(lambda self: len(self.things) > 4)
    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        gone = self.one(pick)
        assert gone is not None
        self.call("delete_entity", entity_id=gone)
        del self.things[gone]
        self.facts = [fact for fact in self.facts if gone not in (fact.source, fact.target)]

    # Questions.

    @rule()
    def compare(self) -> None:
        app, organization = self.world.app, self.owner.organization_id
        head = app.ledger.feed.head(organization).sequence
        assert self.world.run(app.indexer.applied_within, organization, head, [], 20) == []
        retired = {fact.target for fact in self.facts if fact.name == "SUPERSEDES" and fact.is_current(self.now)}
        assert app.ledger.records.superseded(organization, self.things, visibility=self.principal.visible) == retired
        for entity_id in self.things:
            around = [fact for fact in self.facts if entity_id in (fact.source, fact.target)]
            current = [fact for fact in around if fact.is_current(self.now)]
            self.compare_lists(entity_id, around, current)
            ways: dict[str, set[tuple[str, str]]] = {}
            for fact in current:
                outgoing = fact.source == entity_id
                other = fact.target if outgoing else fact.source
                ways.setdefault(other, set()).add((fact.name, "outgoing" if outgoing else "incoming"))
            walked = self.call("explore", mode="related", entity_id=entity_id, limit=200)
            assert {each["id"]: relations(each) for each in walked["entities"]} == {
                other: links
                for other, links in ways.items()
                if other not in retired or "SUPERSEDES" in {name for name, _ in links}
            }
            needed = [fact for fact in current if fact.name == "DEPENDS_ON"]
            needs = {(fact.target, "outgoing") for fact in needed if fact.source == entity_id}
            needs |= {(fact.source, "incoming") for fact in needed if fact.target == entity_id}
            found = self.call("explore", mode="dependencies", entity_id=entity_id, limit=200)
            shown = {(each["id"], each["direction"]) for each in found["entities"]}
            assert shown <= needs
            assert {each for each, _ in shown} == {each for each, _ in needs} - retired
        self.compare_pasts()

    def compare_pasts(self) -> None:
        for known_at in self.moments:
            known = [then for fact in self.facts if (then := fact.known(known_at))]
            assert self.told("timeline", known_at) == {fact.row() for fact in known}
            for as_of in {known_at, self.now, known_at + timedelta(days=2)}:
                held = {fact.id for fact in self.facts if fact.held(as_of, known_at)}
                assert {each[0] for each in self.told("history", known_at, as_of)} == held
                called_off = {fact.id for fact in self.facts if fact.conflicts(as_of, known_at)}
                assert {each[0] for each in self.told("conflicts", known_at, as_of)} == called_off

    def told(self, mode: str, known_at: datetime, as_of: datetime | None = None) -> set[tuple[Any, ...]]:
        moments = {"known_at": known_at.isoformat()} | ({"as_of": as_of.isoformat()} if as_of else {})
        answer = self.call("temporal", mode=mode, limit=200, **moments)
        return {row(edge) for edge in answer["edges"]}

    def compare_lists(self, entity_id: str, around: list[Fact], current: list[Fact]) -> None:
        for included, expected in ((True, around), (False, current)):
            page = self.call("list_relations", entity_id=entity_id, include_expired=included, limit=200)
            assert {row(each) for each in page["relations"]} == {fact.row() for fact in expected}
            assert (page["total"], page["has_more"]) == (len(expected), False)
            assert all(each["is_current"] for each in page["relations"]) or included
        for fact in around:
            assert fact.expired is None or fact.created <= fact.expired
            assert fact.invalid is None or fact.valid <= fact.invalid

    def teardown(self) -> None:
        if getattr(self, "things", None):
            self.compare()
            assert differences(self.world.app.indexer, self.owner.organization_id) == []


def relations(shown: dict[str, Any]) -> set[tuple[str, str]]:
    found = [shown, *shown["other_relations"]]
    ways = {(each["relationship"], each["direction"]) for each in found}
    assert len(ways) == len(found)
    return ways


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    clock = Clock()
    place = Settings(
        data_dir=tmp_path_factory.mktemp("facts"), rate_limit_enabled=False, embedding_provider="none",
        graph_engine=ENGINE,
    )  # fmt: skip
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal("asyncio"))
        app = stack.enter_context(portal.wrap_async_context_manager(open_app(place, logs=LogRing(), clock=clock)))
        yield World(portal, app, clock)
        assert ENGINE in sys.modules
        assert OTHER_ENGINE not in sys.modules


def test_facts_are_what_a_plain_model_says(world: World) -> None:
    machine = type("OfThisWorld", (Facts,), {"world": world})
    few = settings(max_examples=4 if ENGINE_VARIABLE in os.environ else 10, stateful_step_count=35, deadline=None)
    run_state_machine_as_test(machine, settings=settings(few, suppress_health_check=list(HealthCheck)))


@pytest.mark.slow
@pytest.mark.skipif(ENGINE_VARIABLE in os.environ, reason="this is the run on a chosen engine")
def test_facts_are_what_a_plain_model_says_on_the_other_engine_too() -> None:
    """In a process of its own: the two engines share none."""
    assert "1 passed, 1 skipped" in run_on_the_other_engine(Path(__file__))
