"""At any moment what is published of a source is one revision, whole: also after crashes and revoked rights."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest
from hypothesis import settings as limits
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from auth.policy import principal_of
from stores.errors import Conflict, Forbidden
from stores.jobs import Job
from stores.ledger import Ledger
from stores.ledger.facts import RelationWrites
from stores.ledger.jobs import JobWrites
from stores.ledger.memories import MemoryWrites, PayloadWrites
from stores.ledger.transaction import RecordWrites
from stores.records import ProjectAccess, RawMemory
from tests.ledgers import FILE, new_ledger
from tests.postgres import PostgresServer, postgres
from tests.stores.ledger.samples import ANN, BOB, ORG, draft, organization, person, relations_of
from tests.tools.experience.test_projections import experience, parts, step
from tools.experience.payload import Experience, RecordExperienceRequest, content_hash
from tools.experience.projections import edges, manifest_id, notes, projections
from tools.experience.publishing import DISTILL, publish
from tools.frame.operation import Call
from tools.jobs.functions import JobHost, RunningJob
from tools.jobs.runner import FUNCTIONS
from tools.records.derivation import EVIDENCE, ExperienceRevision, memory_id_of
from tools.runtime.settings import Settings

__all__ = ["postgres"]

PROJECT = "project_1"
STEPS = [
    (MemoryWrites, "revise_memory"),
    (PayloadWrites, "replace_texts"),
    (PayloadWrites, "replace_text"),
    (RecordWrites, "create_entities"),
    (RecordWrites, "update_entity"),
    (RelationWrites, "record_relations"),
    (RelationWrites, "end_relation"),
    (JobWrites, "enqueue"),
]
"""Every write of a publication; a crash may come after each."""
CREATION = (MemoryWrites, "create_memory")
OF_JOBS = ("replace_text", "create_entities", "update_entity", "record_relations")
OBSERVATIONS = {
    "a": step("a", 0, action="Deploy", evidence=parts(2, "Error: granite is full")),
    "b": step("b", 1, action="Make room"),
    "c": step("c", 2, action="Deploy again", evidence=parts(1, "done\n0 errors")),
}
AFTER = experience(OBSERVATIONS["a"], OBSERVATIONS["c"])
MANIFEST = manifest_id("run-1")
MEMORY = memory_id_of(MANIFEST)
runs = st.builds(
    lambda chosen, outcome: experience(*(OBSERVATIONS[each] for each in sorted(chosen)), outcome=outcome),
    st.sets(st.sampled_from("abc"), min_size=1),
    st.sampled_from([None, "", "It works"]),
)


class Crashed(BaseException):
    """Stands for the end of the process: nothing catches it."""


def populate(url: str) -> Ledger:
    ledger = Ledger.open(url)
    ledger.people.create_account(person(ANN), organization(ORG, is_personal=False))
    ledger.people.create_account(person(BOB), organization("org-2"))
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.create_entity(draft(PROJECT, entity_type="project"))
        tx.people.set_project_access(ProjectAccess(PROJECT, "org", ANN))
    return ledger


def admit(ledger: Ledger) -> None:
    ledger.people.add_membership(BOB, ORG, "member")
    ledger.project_members.add(ORG, PROJECT, BOB, "project_contributor")


def send(ledger: Ledger, who: str, run: Experience) -> None:
    found = ledger.people.caller(who, ORG, None)
    assert found is not None
    publish(ledger, None, Call(principal_of(*found)), RecordExperienceRequest(experience=run))


def restarted(ledger: Ledger, folder: Path) -> Ledger:
    ledger.close()
    again = Ledger.open(f"sqlite:///{folder / FILE}")
    again.jobs.release_holder("worker")
    return again


def work(ledger: Ledger, job: Job) -> dict[str, Any]:
    async def applied_within(*_: Any) -> list[str]:
        return []

    app = SimpleNamespace(indexer=SimpleNamespace(applied_within=applied_within))
    begun = FUNCTIONS[job.function].run(JobHost(ledger, Settings(), app=app), RunningJob(job, ledger))
    return begun if isinstance(begun, dict) else asyncio.run(cast(Any, begun))


def require_whole(ledger: Ledger, run: Experience | None) -> bool:
    """Hold everything that is published against one run; return whether its notes are there."""
    there = ledger.records.entities(ORG, ledger.records.revisions(ORG))
    visible = {each.id: each for each in there.values() if each.visibility == f"members:{PROJECT}"}
    if run is None:
        assert visible == {}
        assert set(there) == {PROJECT}
        return False
    raw = cast(RawMemory, ledger.memories.memory(ORG, MEMORY))
    wanted = {each.id: each for each in projections(run)}
    made = {each for each, entity in visible.items() if entity.entity_type != "note"}
    assert made == set(wanted)
    for each in wanted.values():
        assert (visible[each.id].name, visible[each.id].content) == (each.name, each.content)
    hashed = content_hash(run.outline())
    assert {visible[MANIFEST].metadata["content_hash"], raw.capture.content_hash} == {hashed}
    texts = list(run.texts())
    found = [ledger.payloads.text(ORG, MEMORY, EVIDENCE + place) for place in range(len(texts) + 1)]
    assert found == [*texts, None]
    distilled, note_edges = notes(run.outline(), texts.__getitem__, MANIFEST)
    present = {each: visible[each].content for each in visible.keys() - made}
    assert present in ({}, {each.id: each.content for each in distilled})
    relations = [each for record in visible for each in relations_of(ledger, ORG, record)]
    expected = {*edges(run), *(note_edges if present else ())}
    assert {(each.name, each.source_id, each.target_id) for each in relations} == expected
    revision = ExperienceRevision.read(ledger.payloads.text(ORG, MEMORY, 0))
    assert revision is not None
    assert set(revision.unavailable) == there.keys() - visible.keys() - {PROJECT, MEMORY}
    assert visible[MANIFEST].metadata["state"] == revision.state
    return bool(present)


class Publication(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.ledger = populate(new_ledger(Path(self.folder.name)))
        self.run: Experience | None = None
        self.sender = self.creator = ""
        self.old: list[Job] = []
        self.admitted = True

    @initialize()
    def begin(self) -> None:
        admit(self.ledger)

    @rule(run=runs, who=st.sampled_from([ANN, BOB]))
    def submit(self, run: Experience, who: str) -> None:
        if who == BOB and not self.admitted:
            return
        if who == BOB and self.creator == ANN:
            with pytest.raises(Forbidden, match="project_access_denied"):
                send(self.ledger, who, run)
            return
        send(self.ledger, who, run)
        self.run, self.sender, self.creator = run, who, self.creator or who

    @rule(run=runs, at=st.sampled_from(STEPS))
    def crash(self, run: Experience, at: tuple[Any, str]) -> None:
        def dies(*arguments: Any, **named: Any) -> Any:
            original(*arguments, **named)
            raise Crashed

        original: Callable[..., Any] = getattr(*at)
        with patch.object(at[0], at[1], dies):
            try:
                send(self.ledger, ANN, run)
            except Crashed:
                self.ledger = restarted(self.ledger, Path(self.folder.name))
            else:
                self.run, self.sender, self.creator = run, ANN, self.creator or ANN

    @precondition(lambda self: self.run is not None)
    @rule(place=st.integers(0, 20))
    def forge_and_send_again(self, place: int) -> None:
        made = sorted(self.ledger.records.revisions(ORG).keys() - {PROJECT, MEMORY})
        with self.ledger.transaction(ORG, ANN) as tx:
            tx.records.update_entity(made[place % len(made)], lambda each: replace(each, content="Forged"))
        send(self.ledger, ANN, cast(Experience, self.run))
        self.sender = ANN

    @rule()
    def take_jobs(self) -> None:
        self.old += self.ledger.jobs.take("worker", [*FUNCTIONS], 9)

    @precondition(lambda self: self.old)
    @rule()
    def run_old_job(self) -> None:
        """Carry out a job that was taken some time ago, if it is still its worker's."""
        job = self.old.pop(0)
        try:
            result = work(self.ledger, job)
            self.ledger.jobs.finish(job, result)
        except Conflict:
            return
        if job.payload["content_hash"] != content_hash(cast(Experience, self.run).outline()):
            assert result["published"] == 0

    @rule()
    def run_jobs(self) -> None:
        for job in self.ledger.jobs.take("worker", [*FUNCTIONS], 9):
            result = work(self.ledger, job)
            self.ledger.jobs.finish(job, result)
            if job.actor_id == BOB and not self.admitted:
                assert result == {"published": 0}
            elif self.run is not None and job.payload["content_hash"] == content_hash(self.run.outline()):
                assert job.function != DISTILL or require_whole(self.ledger, self.run)

    @rule()
    def revoke_or_admit(self) -> None:
        if self.admitted:
            self.ledger.people.remove_member(ORG, BOB)
        else:
            admit(self.ledger)
        self.admitted = not self.admitted

    @invariant()
    def is_one_revision(self) -> None:
        require_whole(self.ledger, self.run)

    def teardown(self) -> None:
        self.ledger.close()
        self.folder.cleanup()


def test_two_servers_on_one_postgresql_publish_one_revision(postgres: PostgresServer) -> None:
    url = postgres.create_database()
    with closing(populate(url)) as one, closing(Ledger.open(url)) as two, ThreadPoolExecutor() as pool:
        before, after = (experience(*(OBSERVATIONS[each] for each in chosen)) for chosen in ("ab", "ac"))
        send(one, ANN, before)
        old = one.jobs.take("one", [*FUNCTIONS], 9)
        assert not require_whole(two, before)
        sent = [pool.submit(send, each, ANN, after) for each in (one, two)]
        assert {type(each.exception()) for each in sent} in ({type(None)}, {type(None), Conflict})
        assert not require_whole(one, after)
        assert [work(two, job)["published"] for job in old] == [0, 0]
        for job in two.jobs.take("two", [*FUNCTIONS], 9):
            two.jobs.finish(job, work(two, job))
        assert require_whole(one, after)
        assert json.loads(cast(str, one.payloads.text(ORG, MEMORY, 0)))["number"] == 2
    postgres.drop_database(url)


TestPublication = Publication.TestCase
TestPublication.settings = limits(max_examples=25, stateful_step_count=20, deadline=None)


def die_in(folder: str, stage: str, name: str) -> None:
    """Publish or work, in a process of its own that is killed after a step."""
    place = next(place for place, step in (*STEPS, CREATION) if step == name)
    original = getattr(place, name)

    def dies(*arguments: Any, **named: Any) -> None:
        original(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    ledger = Ledger.open(f"sqlite:///{Path(folder) / FILE}")
    with patch.object(place, name, dies):
        if stage == "jobs":
            run_all_jobs(ledger)
        else:
            send(ledger, ANN, AFTER)


def run_all_jobs(ledger: Ledger) -> None:
    for job in ledger.jobs.take("worker", [*FUNCTIONS], 9):
        ledger.jobs.finish(job, work(ledger, job))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "name"),
    [("first", CREATION[1]), *(("second", name) for _, name in STEPS), *(("jobs", name) for name in OF_JOBS)],
)
def test_a_process_that_is_killed_in_any_step_leaves_the_revision_before(tmp_path: Path, stage: str, name: str) -> None:
    ledger = populate(new_ledger(tmp_path))
    before = None if stage == "first" else experience(OBSERVATIONS["a"], OBSERVATIONS["b"])
    if before is not None:
        send(ledger, ANN, before)
        run_all_jobs(ledger)
    if stage == "jobs":
        send(ledger, ANN, before := AFTER)
    ledger.close()
    code = f"import {__name__} as tests; tests.die_in(*{(str(tmp_path), stage, name)!r})"
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ledger = restarted(Ledger.open(f"sqlite:///{tmp_path / FILE}"), tmp_path)
    assert require_whole(ledger, before) == (stage == "second")
    send(ledger, ANN, AFTER)
    assert not require_whole(ledger, AFTER)
    run_all_jobs(ledger)
    assert require_whole(ledger, AFTER)
    assert json.loads(cast(str, ledger.payloads.text(ORG, MEMORY, 0)))["number"] == (1 if stage == "first" else 2)
    ledger.close()
