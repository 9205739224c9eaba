"""What reflection found becomes a record once, where its sources are read, by a person or because nothing forbids."""

import asyncio
import json
from typing import Any

import pytest

from auth.policy import MemoryScope, Visibility
from stores.errors import Conflict, EngrainError, Forbidden, NotFound
from tests.people import Person, caught_up, lag, person
from tests.tools.queue import DECIDED, noted, waiting
from tools.app import App
from tools.frame.threads import in_thread
from tools.reflecting.duplicates import Comparison, Statement, with_latest
from tools.reflecting.promotion import AUTO_ARCHIVE, AUTO_PROMOTE, AUTO_REVIEW, DENY, PREVIEW, PROMOTE
from tools.reflecting.promotion_policy import ExceptionReason, InputScope, PromotionReason, archivable, target_objection
from tools.reflecting.reflection.finding import KINDS

pytestmark = pytest.mark.anyio


def source(memory_scope: MemoryScope, scope_key: str | None) -> InputScope:
    return InputScope(id="", memory_scope=memory_scope, scope_key=scope_key)


PRIVATE, X, Y = source("private", "me"), source("project", "x"), source("project", "y")
TEAM, ALL = source("team", "t"), source("organization", None)
TO_PRIVATE, TO_X = Visibility("p", "private", "me"), Visibility("x", "project", "x")
TO_ALL = Visibility("o", "organization", None)


@pytest.mark.parametrize(
    ("target", "inputs", "reason"),
    [
        (TO_ALL, [X], "promote_to_scope_must_match_broadest_input_scope"),
        (TO_PRIVATE, [X], "promote_to_scope_must_match_broadest_input_scope"),
        (TO_X, [X, ALL], "promote_to_scope_must_match_broadest_input_scope"),
        (TO_X, [Y], "scope_crossing_requires_promotion"),
        (TO_X, [X, Y], "scope_crossing_requires_promotion"),
        (Visibility("t", "team", "t"), [X, TEAM], "scope_crossing_requires_promotion"),
        (TO_X, [X], None),
        (TO_X, [X, PRIVATE], None),
        (TO_ALL, [X, ALL, PRIVATE], None),
        (TO_PRIVATE, [PRIVATE, PRIVATE], None),
    ],
)
def test_a_promotion_keeps_to_the_scope_of_its_inputs(
    target: Visibility, inputs: list[InputScope], reason: PromotionReason | None
) -> None:
    assert target_objection(target, inputs) == reason


@pytest.mark.parametrize(
    ("found", "asked", "reason"),
    [
        (["low_confidence", "duplicate_candidate"], ["duplicate_candidate"], "duplicate_candidate"),
        (["duplicate_candidate", "stale_candidate"], ["stale_candidate"], "stale_candidate"),
        (["duplicate_candidate"], ["stale_candidate"], None),
        (["low_confidence"], ["low_confidence", "duplicate_candidate"], None),
        (["contradiction_candidate", "duplicate_candidate"], ["duplicate_candidate"], None),
        (["policy_denied", "duplicate_candidate"], ["duplicate_candidate"], None),
    ],
)
def test_only_known_or_stale_is_archived(found: list[ExceptionReason], asked: list[str], reason: str | None) -> None:
    assert archivable(found, asked) == reason


async def a_project(owner: Person) -> str:
    made = await owner.call("create_entity", name="Quarry", entity_type="project")
    return str(made["id"])


async def contributor(owner: Person, who: Person, project: str, role: str = "project_contributor") -> None:
    await owner.call("add_project_member", project_id=project, user_id=who.user_id, role=role)


async def deeds(owner: Person) -> list[dict[str, Any]]:
    listed = await owner.call("read_audit", action="memory.reflect.", limit=200)
    return list(reversed(listed["entries"]))


async def promote(who: Person, candidate: str, **fields: Any) -> dict[str, Any]:
    return dict(await who.call("promote_candidate", candidate_id=candidate, **fields))


async def auto(who: Person, candidate: str, **fields: Any) -> dict[str, Any]:
    return dict(await who.call("review_candidate", candidate_id=candidate, **fields))


async def state_of(who: Person, candidate: str) -> tuple[str, str | None]:
    read = await who.call("get_capture", capture_id=candidate)
    return read["review_state"], read["entity_id"]


async def test_a_promoted_record_has_sources_links_and_confidence(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    await contributor(owner, member, project)
    topic = (await owner.call("create_entity", name="Cache", entity_type="topic"))["id"]
    gone = (await owner.call("create_entity", name="Gone", entity_type="topic"))["id"]
    task = (await owner.call("create_task", title="Work", project_id=project))["task_id"]
    notes = await noted(member, "project", project)
    candidate = await waiting(
        member, "project", project, sources=[notes], related_to=[f"ABOUT:{topic}", gone], task_ids=[task], domain="ops"
    )
    await owner.run("delete_entity", entity_id=gone)
    preview = await member.call("preview_promotion", candidate_id=candidate)
    announced = {
        "allowed": True, "reason": "promotion_preview_allowed", "review_state": "pending",
        "promote_to_scope": "project", "promote_to_scope_key": project, "source_count": 1,
    }  # fmt: skip
    assert preview.items() >= announced.items()
    assert {each["id"]: each["scope_key"] for each in preview["input_scopes"]} == {candidate: project, notes: project}
    assert await state_of(member, candidate) == ("pending", None)

    done = await promote(member, candidate, related_to=[f"requires:{topic}"])
    assert (done["success"], done["reason"], done["review_state"]) == (True, "promoted", "promoted")
    assert (done["memory_scope"], done["scope_key"], done["raw_source_ids"]) == ("project", project, [notes])
    assert "same_scope_write_allowed" in done["policy_reasons"]
    assert (done["metadata"]["confidence"], done["metadata"]["unlinked_ids"]) == (0.86, [gone])
    entity = await member.call("get_entity", entity_id=done["promoted_id"])
    assert (entity["entity_type"], entity["name"], entity["content"]) == ("decision", "Flush the walrus cache", DECIDED)
    told = {
        "confidence": 0.86, "project_id": project, "raw_source_ids": [notes], "candidate_id": candidate,
        "domain": "ops", "memory_scope": "project", "span": {"start": 0, "end": 5},
    }  # fmt: skip
    assert entity["metadata"].items() >= told.items()
    relations = (await member.call("list_relations", entity_id=entity["id"]))["relations"]
    assert {(each["name"], each["target_id"]) for each in relations} == {
        ("ABOUT", topic), ("REQUIRES", topic), ("RELATED_TO", task), ("BELONGS_TO", project)
    }  # fmt: skip
    for memory in (candidate, notes):
        assert await state_of(member, memory) == ("promoted", entity["id"])
    colleague = await person(member.app, "colleague", of=owner, role="member")
    await colleague.refused("get_entity", NotFound, entity_id=entity["id"])
    await caught_up(member)
    found = await member.call("search", query="walrus cache granite release", types=["decision"])
    assert [hit["id"] for hit in found["results"]] == [entity["id"]]


async def test_a_promotion_is_done_once(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    await contributor(owner, member, project)
    candidate = await waiting(owner, "project", project)
    answers = await asyncio.gather(*(promote(who, candidate) for who in (owner, member, owner, member)))
    assert sorted(each["success"] for each in answers) == [False, False, False, True]
    assert {each["reason"] for each in answers} == {"promoted", "candidate_already_promoted"}
    assert len({each["promoted_id"] for each in answers}) == 1
    assert len([each for each in await deeds(owner) if each["action"] == PROMOTE]) == 1
    listed = await owner.call("list_entities", entity_type="decision")
    assert listed["total"] == 1


@pytest.mark.parametrize(
    ("said", "asked", "reason"),
    [
        ({"suggested_memory_scope": None}, {}, "missing_promote_to_scope"),
        ({}, {"promote_to_scope": "project"}, "missing_scope_key"),
        ({}, {"promote_to_scope": "project", "promote_to_scope_key": "nowhere"}, "unverified_membership"),
        ({}, {"promote_to_scope": "public"}, "scope_not_enabled"),
        ({}, {"promote_to_scope_key": "somebody"}, "principal_mismatch"),
        ({}, {"promote_to_scope": "organization"}, "promote_to_scope_must_match_broadest_input_scope"),
        ({"raw_source_ids": ["raw_memory_000000000000"]}, {}, "raw_memory_not_recallable"),
    ],
)
async def test_a_refusal_writes_nothing(
    owner: Person, said: dict[str, Any], asked: dict[str, Any], reason: str
) -> None:
    candidate = await waiting(owner, **said)
    preview = await owner.call("preview_promotion", candidate_id=candidate, **asked)
    assert (preview["allowed"], preview["reason"], preview["policy_reasons"]) == (False, reason, [reason])
    done = await promote(owner, candidate, **asked)
    assert (done["success"], done["reason"], done["promoted_id"]) == (False, reason, None)
    reviewed = await auto(owner, candidate, **asked)
    assert (reviewed["outcome"], reviewed["recommended_action"]) == ("exception", "route_to_review")
    assert (reviewed["reason"], reviewed["exception_reasons"][0]) == ("policy_denied", "policy_denied")
    assert reviewed["policy_reasons"] == [reason]
    assert await state_of(owner, candidate) == ("pending", None)
    assert (await owner.call("explore"))["total"] == 0


async def test_scopes_are_not_crossed(owner: Person) -> None:
    here, there = await a_project(owner), await a_project(owner)
    candidate = await waiting(owner, "project", here)
    refused = await promote(owner, candidate, promote_to_scope_key=there, promote_to_scope="project")
    assert refused["reason"] == "scope_crossing_requires_promotion"
    mixed = await waiting(owner, "project", here, sources=[await noted(owner, "project", there)])
    assert (await promote(owner, mixed))["reason"] == "scope_crossing_requires_promotion"


async def test_the_record_is_as_private_as_its_most_private_source(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    await contributor(owner, member, project)
    sources = [await noted(owner, "project", project), await noted(owner)]
    candidate = await waiting(owner, "project", project, sources=sources)
    refused = await promote(member, candidate)
    assert refused["reason"] == "raw_memory_not_recallable", "whose it is, it does not tell"
    preview = await owner.call("preview_promotion", candidate_id=candidate)
    assert (preview["promote_to_scope"], preview["metadata"]["memory_scope"]) == ("project", "private")
    done = await promote(owner, candidate)
    assert (done["memory_scope"], "narrowest_source_scope" in done["policy_reasons"]) == ("private", True)
    await member.refused("get_entity", NotFound, entity_id=done["promoted_id"])
    assert done["promoted_id"] not in json.dumps(await deeds(owner))
    assert done["promoted_id"] not in json.dumps(await member.call("get_capture", capture_id=candidate))


async def test_who_may_only_read_a_project_promotes_nothing_there(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    await contributor(owner, member, project, "project_viewer")
    candidate = await waiting(owner, "project", project)
    assert (await promote(member, candidate))["reason"] == "unverified_membership"
    drained = await member.call("drain_candidates", dry_run=False, archive_exceptions=True)
    assert (drained["applied_count"], drained["archived_count"], drained["exception_count"]) == (0, 0, 1)
    assert await state_of(owner, candidate) == ("pending", None)


async def test_what_is_over_stays_so_and_what_was_put_off_can_be_promoted(member: Person) -> None:
    archived, deferred = await waiting(member), await waiting(member)
    await member.call("review_capture", capture_id=archived, review_state="archived")
    await member.call("review_capture", capture_id=deferred, review_state="deferred")
    assert (await promote(member, archived))["reason"] == "candidate_archived"
    skipped = await auto(member, archived)
    assert (skipped["outcome"], skipped["recommended_action"]) == ("skip", "skip")
    assert skipped["reason"] == "candidate_archived"
    assert (await member.call("drain_candidates"))["scanned_count"] == 0, "a drain leaves what was put off"
    assert (await promote(member, deferred))["success"]
    assert (await auto(member, deferred))["reason"] == "candidate_already_promoted"


async def test_what_somebody_said_is_no_candidate(member: Person) -> None:
    said = await noted(member)
    assert (await promote(member, said))["reason"] == "not_reflection_candidate"
    assert (await auto(member, said))["exception_reasons"][0] == "policy_denied"


async def test_nobody_elses_private_candidates_are_there(owner: Person, member: Person, viewer: Person) -> None:
    candidate = await waiting(member, sources=[await noted(member)])
    for operation in ("promote_candidate", "preview_promotion", "review_candidate"):
        answers = []
        for each in (candidate, "raw_memory_000000000000"):
            refused = await owner.refused(operation, NotFound, match="candidate not found", candidate_id=each)
            answers.append(str(refused).replace(each, "…"))
        assert answers[0] == answers[1]
        await viewer.refused(operation, Forbidden, candidate_id=candidate)
    drained = await owner.call("drain_candidates", dry_run=False)
    assert (drained["scanned_count"], drained["metadata"]["waiting_count"]) == (0, 0)
    assert (await member.call("drain_candidates"))["scanned_count"] == 1
    done = await promote(member, candidate)
    log = json.dumps(await deeds(owner))
    assert candidate not in log
    assert done["promoted_id"] not in log
    await viewer.refused("drain_candidates", Forbidden)


async def test_each_deed_stands_in_the_audit_log_without_text(owner: Person) -> None:
    project = await a_project(owner)
    first, second, third = [
        await waiting(owner, "project", project, title=title, content=text)
        for title, text in (
            ("One", "We decided to sell the orchid farm in May."),
            ("Two", "We decided to paint the lantern tower red."),
            ("Three", "We decided to close the pepper mill on Sundays."),
        )
    ]
    await owner.call("preview_promotion", candidate_id=first)
    done = await promote(owner, first)
    await promote(owner, first)
    reviewed = await auto(owner, second)
    await auto(owner, third, confidence_threshold=0.9)
    log = await deeds(owner)
    assert [(each["action"], each["target"]) for each in log] == [
        (PREVIEW, first), (PROMOTE, first), (DENY, first), (AUTO_PROMOTE, second), (AUTO_REVIEW, third),
    ]  # fmt: skip
    assert log[1]["details"]["derived_ids"] == [done["promoted_id"]]
    assert log[3]["details"]["derived_ids"] == [reviewed["promoted_id"]]
    assert log[2]["details"]["policy_reason"] == "candidate_already_promoted"
    assert log[4]["details"]["exception_reasons"] == ["low_confidence"]
    assert (log[1]["details"]["memory_scope"], log[1]["details"]["scope_key"]) == ("project", project)
    for word in ("orchid", "lantern", "pepper", "One"):
        assert word not in json.dumps(log)


async def test_one_without_exceptions_is_promoted_unseen(member: Person) -> None:
    candidate = await waiting(member)
    tried = await auto(member, candidate, dry_run=True)
    assert (tried["outcome"], tried["recommended_action"], tried["applied"]) == ("auto_promote", "promote", False)
    assert (tried["reason"], tried["dry_run"]) == ("promotion_preview_allowed", True)
    assert await state_of(member, candidate) == ("pending", None)
    done = await auto(member, candidate)
    assert (done["outcome"], done["applied"], done["reason"]) == ("auto_promote", True, "promoted")
    assert (done["confidence"], done["confidence_threshold"]) == (0.86, 0.8)
    assert done["promotion"]["promoted_id"] == done["promoted_id"]
    assert await state_of(member, candidate) == ("promoted", done["promoted_id"])
    again = await auto(member, candidate)
    assert (again["outcome"], again["reason"], again["exception_reasons"]) == ("skip", "candidate_already_promoted", [])


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"sources": []}, "missing_source"),
        ({"confidence": "absent"}, "missing_confidence"),
        ({"confidence": 0.78}, "low_confidence"),
        ({"sensitivity_flags": ["pii"]}, "sensitive_candidate"),
        ({"tags": ["secret"]}, "sensitive_candidate"),
        ({"content": "We decided that the password: hunter22!x"}, "sensitive_candidate"),
        ({"kind": "deletion"}, "destructive_candidate"),
    ],
)
async def test_what_is_doubtful_waits_for_a_person(member: Person, said: dict[str, Any], reason: str) -> None:
    candidate = await waiting(member, **said)
    reviewed = await auto(member, candidate)
    assert (reviewed["outcome"], reviewed["applied"], reviewed["reason"]) == ("exception", False, reason)
    assert reviewed["exception_reasons"] == [reason]
    assert await state_of(member, candidate) == ("pending", None)
    if reason != "destructive_candidate":
        assert (await promote(member, candidate))["success"], "a person may"


async def test_what_many_would_read_waits_for_a_person(owner: Person) -> None:
    candidate = await waiting(owner, "organization")
    assert (await auto(owner, candidate))["exception_reasons"] == ["high_impact_scope"]
    assert (await promote(owner, candidate))["memory_scope"] == "organization"


async def test_all_that_asks_for_a_person_is_told_in_the_agreed_order(owner: Person) -> None:
    candidate = await waiting(
        owner, "organization", sources=[], confidence=0.1, kind="delete", sensitivity_flags=["pii"]
    )
    assert (await auto(owner, candidate))["exception_reasons"] == [
        "high_impact_scope", "missing_source", "low_confidence", "sensitive_candidate", "destructive_candidate",
    ]  # fmt: skip


async def test_what_is_known_contradicted_or_outdated_by_now_waits_for_a_person(member: Person) -> None:
    private = {"memory_scope": "private"}

    async def know(text: str, **fields: Any) -> str:
        fields = {"entity_type": "decision", "metadata": private, **fields}
        made = await member.call("create_entity", name=text[:30], content=text, sync=True, **fields)
        return str(made["id"])

    known = await know(DECIDED)
    old = await know("We use Kafka for the orchid queue.")
    new = await know("We use NATS for the orchid queue.", related_to=[f"supersedes:{old}"])
    limit = await know("The pepper timeout is 30 seconds.", entity_type="claim")
    same = await waiting(member)
    stale = await waiting(member, content="We use Kafka for the orchid queue.")
    opposed = await waiting(member, kind="claim", content="The pepper timeout is 90 seconds.")
    await caught_up(member)
    for candidate, reason, target in (
        (same, "duplicate_candidate", known),
        (stale, "stale_candidate", old),
        (opposed, "contradiction_candidate", limit),
    ):
        reviewed = await auto(member, candidate)
        assert reviewed["exception_reasons"] == [reason]
        assert [each["target_source_id"] for each in reviewed["metadata"]["findings"]] == [target]
    done = await promote(member, opposed)
    relations = (await member.call("list_relations", entity_id=done["promoted_id"]))["relations"]
    assert ("CONTRADICTS", limit) in {(each["name"], each["target_id"]) for each in relations}
    assert new != old


async def test_a_record_that_others_cannot_read_makes_no_duplicate_for_them(owner: Person) -> None:
    project = await a_project(owner)
    await owner.call(
        "create_entity", name="Mine", content=DECIDED, entity_type="decision", metadata={"memory_scope": "private"}
    )
    candidate = await waiting(owner, "project", project)
    await caught_up(owner)
    reviewed = await auto(owner, candidate, dry_run=True)
    assert (reviewed["outcome"], reviewed["exception_reasons"]) == ("auto_promote", [])
    assert reviewed["metadata"]["findings"][0]["policy_reasons"] == ["known_to_fewer_readers"]


async def test_a_drain_promotes_what_it_may_archives_what_it_is_told_and_leaves_the_rest(owner: Person) -> None:
    project = await a_project(owner)
    await owner.call(
        "create_entity", name="Known", content="We decided to keep the meadow.", entity_type="decision", sync=True
    )
    known = await waiting(owner, "project", project, content="We decided to keep the meadow.", confidence=0.7)
    doubtful = await waiting(owner, "project", project, confidence=0.5, content="We decided to sell the velvet chair.")
    private = await waiting(owner, content="We decided to paint the lantern tower red.")
    twin = await waiting(owner, "project", project)
    good = await waiting(owner, "project", project)
    await caught_up(owner)
    tried = await owner.call("drain_candidates")
    assert (tried["dry_run"], tried["scanned_count"], tried["applied_count"]) == (True, 5, 0)
    for candidate in (known, doubtful, private, twin, good):
        assert await state_of(owner, candidate) == ("pending", None)
    drained = await owner.call(
        "drain_candidates", dry_run=False, archive_exceptions=True,
        archive_exception_reasons=["duplicate_candidate", "low_confidence"],
    )  # fmt: skip
    counts = {name: drained[f"{name}_count"] for name in ("auto_promote", "applied", "archived", "exception", "failed")}
    assert counts == {"auto_promote": 2, "applied": 2, "archived": 2, "exception": 3, "failed": 0}
    results = {each["candidate_id"]: each for each in drained["results"]}
    assert [each["candidate_id"] for each in drained["results"]] == [good, twin, private, doubtful, known]
    assert (results[twin]["archived"], results[twin]["reason"]) == (True, "duplicate_candidate"), "said a moment ago"
    assert results[known]["exception_reasons"] == ["low_confidence", "duplicate_candidate"]
    assert (results[doubtful]["archived"], results[doubtful]["reason"]) == (False, "low_confidence")
    assert await state_of(owner, known) == ("archived", None)
    assert await state_of(owner, doubtful) == ("pending", None)
    assert {state for state, _ in [await state_of(owner, each) for each in (private, good)]} == {"promoted"}
    assert drained["metadata"] == {"waiting_count": 5, "next_offset": None}
    assert AUTO_ARCHIVE in {each["action"] for each in await deeds(owner)}


async def test_a_drain_goes_on_where_it_stopped_and_keeps_to_a_project(owner: Person) -> None:
    here, there = await a_project(owner), await a_project(owner)
    texts = ("sell the orchid farm", "paint the lantern tower", "close the pepper mill")
    for text in texts:
        await waiting(owner, "project", here, content=f"We decided to {text}.", confidence=0.5)
    await waiting(owner, "project", there)
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        drained = await owner.call("drain_candidates", dry_run=False, limit=2, offset=offset, project=here)
        seen += [each["candidate_id"] for each in drained["results"]]
        offset = drained["metadata"]["next_offset"]
    assert len(seen) == len(set(seen)) == 4
    listed = await owner.call("list_entities", entity_type="decision")
    assert listed["total"] == 0
    drained = await owner.call("drain_candidates", dry_run=False, confidence_threshold=0.4, project=here)
    assert (drained["applied_count"], drained["skip_count"]) == (3, 1)


async def test_one_that_fails_stops_no_other(owner: Person) -> None:
    good = await waiting(owner)
    bad = await waiting(owner, content="We decided to sell the orchid farm.", related_to=["supersedes:nothing"])
    drained = await owner.call("drain_candidates", dry_run=False, related_to=["note_000000000000"])
    assert (drained["failed_count"], drained["applied_count"]) == (2, 0)
    assert {each["outcome"] for each in drained["results"]} == {"error"}
    assert "note_000000000000" in drained["results"][0]["error"]
    drained = await owner.call("drain_candidates", dry_run=False)
    assert {each["candidate_id"]: each["reason"] for each in drained["results"]} == {good: "promoted", bad: "promoted"}


async def test_the_same_said_twice_in_a_row_is_promoted_once(member: Person) -> None:
    first, second = await waiting(member), await waiting(member, content=DECIDED.upper())
    lag(member)
    promoted = await auto(member, first)
    assert promoted["applied"]
    again = await auto(member, second)
    assert (again["applied"], again["exception_reasons"]) == (False, ["duplicate_candidate"])
    assert again["metadata"]["findings"][0]["target_source_id"] == promoted["promoted_id"]


async def test_what_was_contradicted_a_moment_ago_waits_for_a_person(member: Person) -> None:
    said = [await waiting(member, kind="claim", content=f"The pepper timeout is {n} seconds.") for n in (30, 90)]
    lag(member)
    assert (await auto(member, said[0]))["applied"]
    assert (await auto(member, said[1]))["exception_reasons"] == ["contradiction_candidate"]


async def test_what_was_made_private_meanwhile_is_known_to_its_owner_alone(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    await contributor(owner, member, project)
    fields = {"name": "Walrus", "content": DECIDED, "entity_type": "decision", "metadata": {"project_id": project}}
    made = (await owner.call("create_entity", **fields))["id"]

    def latest(who: Person) -> list[str]:
        caller, unread = who.app.accounts.authenticate(who.token), Comparison(Statement(DECIDED, "decision"))
        with who.app.ledger.transaction(who.organization_id, who.user_id) as tx:
            return [each.entity.id for each in with_latest(tx, caller, unread, "").known]

    assert await in_thread(latest, member) == [made]
    await owner.call("update_entity", entity_id=made, metadata={"project_id": None, "memory_scope": "private"})
    assert await in_thread(latest, member) == []
    assert await in_thread(latest, owner) == [made]


async def test_reviews_at_the_same_time_promote_the_same_once(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    await contributor(owner, member, project)
    people = (owner, member, owner, member)
    candidates = [await waiting(owner, "project", project) for _ in people]
    reviewed = await asyncio.gather(*(auto(*each) for each in zip(people, candidates, strict=True)))
    assert sorted(each["applied"] for each in reviewed) == [False, False, False, True]
    reasons = [each["exception_reasons"] for each in reviewed if not each["applied"]]
    assert reasons == [["duplicate_candidate"]] * 3


async def test_a_drain_with_a_key_is_answered_again_and_done_once(member: Person) -> None:
    first = await waiting(member)
    drained = await member.run("drain_candidates", idempotency_key="once", dry_run=False)
    later = await waiting(member, content="We decided to paint the lantern tower red.")
    again = await member.run("drain_candidates", idempotency_key="once", dry_run=False)
    assert again.replayed
    assert [each["candidate_id"] for each in again.body()["results"]] == [first]
    assert again.body()["results"][0]["promoted_id"] == drained.body()["results"][0]["promoted_id"]
    assert await state_of(member, later) == ("pending", None)
    await member.run("delete_entity", entity_id=drained.body()["results"][0]["promoted_id"])
    await member.refused("drain_candidates", Conflict, match="not shown again", idempotency_key="once", dry_run=False)


async def test_what_is_announced_is_what_would_be_done(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    rule = await owner.call("create_entity", name="Rule", entity_type="rule", metadata={"project_id": project})
    candidate = await waiting(member, "organization")
    private = await waiting(member, content="We decided to paint the lantern tower red.")
    for nothing in ("note_000000000000", "supersedes:note_000000000000"):
        for operation in ("preview_promotion", "promote_candidate"):
            refused = await member.refused(operation, NotFound, candidate_id=candidate, related_to=[nothing])
            assert refused.details == {"field": "body.related_to"}
        with pytest.raises(NotFound):
            await auto(member, private, related_to=[nothing], dry_run=True)
        drained = await member.call("drain_candidates", related_to=[nothing])
        assert {each["candidate_id"]: each["outcome"] for each in drained["results"]}[private] == "error"
    for operation in ("preview_promotion", "promote_candidate"):
        await member.refused(operation, Forbidden, candidate_id=candidate, related_to=[f"supersedes:{rule['id']}"])
    assert (await member.call("preview_promotion", candidate_id=candidate, related_to=[rule["id"]]))["allowed"]


async def test_a_team_promotes_what_its_own_notes_say(owner: Person, app: App) -> None:
    colleague = await person(app, "colleague", of=owner, role="member")
    team = (await owner.call("create_team", name="Core"))["id"]
    await owner.call("add_team_member", team_id=team, user_id=colleague.user_id)
    candidate = await waiting(colleague, "team", team)
    with pytest.raises(NotFound):
        await promote(owner, candidate)
    done = await promote(colleague, candidate)
    assert (done["memory_scope"], done["scope_key"]) == ("team", team)
    await owner.refused("get_entity", EngrainError, entity_id=done["promoted_id"])
    log = await deeds(owner)
    assert [each["action"] for each in log] == [PROMOTE]
    for hidden in (candidate, done["promoted_id"], team):
        assert hidden not in json.dumps(log)


async def test_each_kind_becomes_a_record_of_its_type(owner: Person) -> None:
    project = await a_project(owner)
    for kind in KINDS:
        candidate = await waiting(owner, "project", project, kind=kind, content=f"Something about the {kind}.")
        done = await promote(owner, candidate)
        entity = await owner.call("get_entity", entity_id=done["promoted_id"])
        assert entity["entity_type"] == kind
        assert entity["metadata"].get("status") == ("todo" if kind == "task" else None)
    other = await waiting(owner, "project", project, kind="correction", content="Something else.")
    done = await promote(owner, other)
    assert (await owner.call("get_entity", entity_id=done["promoted_id"]))["entity_type"] == "claim"


async def test_what_reflection_queued_is_promoted(owner: Person) -> None:
    project = await a_project(owner)
    pack = await owner.call(
        "reflect", content="Decision: we keep the walrus cache in memory.\n- [ ] paint the lantern tower red (Yuki)",
        project=project, persist_review=True,
    )  # fmt: skip
    waiting_ids = [each["persisted_id"] for each in pack["candidates"]]
    assert len(waiting_ids) == 2
    first, second = waiting_ids
    done = await promote(owner, first)
    assert (done["success"], done["raw_source_ids"]) == (True, [pack["source_id"]])
    drained = await owner.call("drain_candidates", dry_run=False)
    assert [(each["candidate_id"], each["applied"]) for each in drained["results"]] == [(second, True)]
    entity = await owner.call("get_entity", entity_id=drained["results"][0]["promoted_id"])
    assert (entity["entity_type"], entity["metadata"]["confidence"]) == ("task", pack["candidates"][1]["confidence"])
