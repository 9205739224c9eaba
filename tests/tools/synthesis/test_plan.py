"""Plans: their sections, what each rests on, and what is said to be missing."""

from typing import Any

import pytest

from stores.errors import Forbidden, ValidationFailed
from tests.people import Person, caught_up
from tests.tools.synthesis.world import GOAL, all_sources, gaps, keep, pack_of, plan, titles, world
from tools.synthesis.templates import EXTENTS, TEMPLATES

pytestmark = pytest.mark.anyio

SECTIONS = {
    "documentation": ["Overview", "Key Decisions", "Implementation Notes", "Risks And Gaps"],
    "report": ["Executive Summary", "Evidence", "Risks And Gaps"],
    "briefing": ["Situation", "Signals", "Next Actions"],
    "roadmap": ["Current State", "Completed Work", "Next Milestones", "Risks And Open Questions"],
    "release_notes": ["Highlights", "Behavior Changes", "Verification", "Known Gaps"],
    "audit_packet": ["Scope", "Findings", "Evidence", "Gaps And Risks"],
    "custom": ["Overview", "Evidence", "Gaps"],
    "handbook": ["Orientation", "Decisions In Force", "Current Work", "Gotchas", "Key Artifacts"],
}


@pytest.mark.parametrize("output_type", TEMPLATES)
async def test_each_type_has_its_sections(owner: Person, output_type: str) -> None:
    run = await plan(owner, output_type=output_type)
    assert titles(run) == SECTIONS[output_type]
    assert run["outline"]["output_type"] == output_type


async def test_a_plan_says_what_each_section_rests_on(owner: Person) -> None:
    ids = await world(owner)
    run = await plan(owner, audience="New colleagues", constraints=["Two pages"])
    assert (run["status"], run["run_id"][:10]) == ("planned", "synthesis:")
    assert run["outline"]["title"] == GOAL
    assert run["request"]["audience"] == "New colleagues"
    assert run["request"]["max_sections"] == 6
    decisions = pack_of(run, "Key Decisions")
    assert {ids["decision"], ids["rule"]} <= set(decisions["source_ids"])
    source = decisions["sources"][0]
    assert source.keys() == {
        "id", "type", "name", "content_preview", "score", "source", "origin", "relation", "metadata"
    }  # fmt: skip
    assert (source["origin"], source["relation"]) == ("graph", None)
    assert decisions["freshness"].keys() == set(decisions["source_ids"])
    section = run["outline"]["sections"][1]
    assert (section["section_id"], section["source_query"]) == ("section:02-key-decisions", GOAL)
    assert section["source_ids"] == decisions["source_ids"]
    assert ids["off"] not in all_sources(run)
    assert ids["archived"] not in all_sources(run)
    assert pack_of(run, "Risks And Gaps")["hidden_count"] == 1, "the archived task"


async def test_the_verification_of_a_plan_is_pending_or_names_gaps(owner: Person) -> None:
    await world(owner)
    complete = await plan(owner, max_sections=2)
    assert complete["verification"] == {
        "status": "pending", "source_count": len(all_sources(complete)), "gap_count": 0, "gaps": []
    }  # fmt: skip
    empty = await plan(owner, goal="Quarterly dividends of the tulip market", max_sections=1)
    assert empty["verification"]["status"] == "gaps"
    gap = empty["verification"]["gaps"][0]
    assert gap == empty["outline"]["sections"][0]["gaps"][0]
    assert gap == {
        "section_id": "section:01-overview", "reason": "no_materialized_sources",
        "query": "Quarterly dividends of the tulip market", "missing_source_ids": [],
    }  # fmt: skip


async def test_sections_that_are_asked_for_replace_those_of_the_type(owner: Person) -> None:
    ids = await world(owner)
    wanted = [
        {"title": "Idempotency keys", "prompt": "How a charge is named"},
        {"title": "Volcano insurance", "prompt": "", "required_source_ids": []},
        {"title": "Summary"},
    ]
    run = await plan(owner, required_sections=wanted)
    assert titles(run) == ["Idempotency keys", "Volcano insurance", "Summary"]
    assert ids["decision"] in run["source_packs"][0]["source_ids"]
    assert gaps(run) == [("no_source_supports_requested_section", [])]
    assert run["outline"]["sections"][2]["source_query"] == GOAL, "a summary is about the goal"
    many = [{"title": f"Part {number}"} for number in range(12)]
    assert len(titles(await plan(owner, required_sections=many))) == 12
    assert len(titles(await plan(owner, required_sections=many, max_sections=3))) == 3


async def test_the_depth_bounds_sections_and_sources(owner: Person) -> None:
    for number in range(20):
        await keep(owner, f"Charge rule {number}", "rule", f"A card is charged once, says rule {number}.")
    await caught_up(owner)
    found = {depth: await plan(owner, depth=depth, include_neighborhoods=False) for depth in EXTENTS}
    assert [len(titles(found[depth])) for depth in ("brief", "standard", "deep")] == [3, 4, 4]
    counts = [len(pack_of(found[depth], "Key Decisions")["source_ids"]) for depth in ("brief", "standard", "deep")]
    assert counts[0] == 4
    assert counts[0] < counts[1] <= 8
    assert counts[1] <= counts[2] <= 16
    assert len(titles(await plan(owner, depth="deep", max_sections=1))) == 1
    assert all(len(templates) <= 6 for templates in TEMPLATES.values()), "the default limit cuts no template"


async def test_what_is_named_comes_in_where_it_belongs(owner: Person) -> None:
    ids = await world(owner)
    run = await plan(
        owner, goal="Volcano insurance", task_ids=[ids["task"]], decision_ids=[ids["decision"]],
        entity_ids=[ids["off"], ids["off"]],
    )  # fmt: skip
    assert pack_of(run, "Key Decisions")["source_ids"] == [ids["decision"]]
    assert pack_of(run, "Risks And Gaps")["source_ids"] == [ids["task"]], "it is blocked"
    assert pack_of(run, "Overview")["source_ids"] == [ids["off"]]
    assert pack_of(run, "Overview")["sources"][0]["metadata"]["pinned"] is True
    wanted = [{"title": "Volcanoes", "required_source_ids": [ids["off"]]}]
    assert all_sources(await plan(owner, required_sections=wanted)) == {ids["off"]}


async def test_what_cannot_be_used_is_a_gap_and_says_nothing_else(owner: Person, member: Person) -> None:
    ids = await world(owner)
    theirs = await keep(member, "Charge secretly", "decision", GOAL, metadata={"memory_scope": "private"})
    await caught_up(member)
    said = []
    for named in (theirs, "decision_000000000000"):
        run = await plan(owner, decision_ids=[named], required_sections=[{"title": "Keys",
                         "required_source_ids": [named, ids["rule"]]}])  # fmt: skip
        assert gaps(run) == [("required_source_ids_not_found", [named])]
        said.append(str({**run, "run_id": ""}).replace(named, "<id>"))
    assert said[0] == said[1]
    assert theirs not in str(await plan(owner))


async def test_what_was_replaced_is_counted_and_not_used(owner: Person) -> None:
    ids = await world(owner)
    newer = await keep(owner, "Charges carry a request key", "decision", "No card is charged twice.",
                       related_to=[f"supersedes:{ids['decision']}"])  # fmt: skip
    await caught_up(owner)
    run = await plan(owner, decision_ids=[ids["decision"]])
    pack = pack_of(run, "Key Decisions")
    assert newer in pack["source_ids"]
    assert ids["decision"] not in all_sources(run)
    assert (pack["correction_count"], pack["correction_reasons"]) == (2, ["superseded"])
    assert gaps(run)[0] == ("required_source_ids_not_found", [ids["decision"]])


async def test_neighbours_come_along_and_say_how_they_are_linked(owner: Person) -> None:
    goal, policy = "Rotate the harbour lamps", "Keep ladders dry"
    rule = await keep(owner, policy, "guide", "Wet rungs are slippery.")
    lamp = await keep(owner, "Rotate the harbour lamps weekly", "procedure", "1. Climb. 2. Turn the harbour lamp.",
                      related_to=[f"requires:{rule}"])  # fmt: skip
    await caught_up(owner)
    run = await plan(owner, goal=goal)
    sources = {each["id"]: each for each in pack_of(run, "Implementation Notes")["sources"]}
    assert sources[rule]["relation"] == "REQUIRES"
    assert sources[rule]["metadata"]["related_to"] == lamp
    alone = await plan(owner, goal=goal, include_neighborhoods=False)
    assert rule not in pack_of(alone, "Implementation Notes")["source_ids"]


async def test_what_is_not_settled_is_said(owner: Person) -> None:
    ids = await world(owner)
    said = ["Who pays the second fee", "password: hunter2secret9"]
    other = await keep(owner, "A passenger's card may be charged twice", "decision", "It is refunded by night.",
                       related_to=[f"contradicts:{ids['decision']}"], metadata={"unresolved_claims": said})  # fmt: skip
    await caught_up(owner)
    run = await owner.call("synthesis_verify", goal=GOAL)
    claims = pack_of(run, "Key Decisions")["unresolved_claims"]
    assert other in pack_of(run, "Key Decisions")["source_ids"]
    assert "Who pays the second fee" in claims
    assert any("contradict each other" in claim for claim in claims)
    assert "hunter2" not in str(claims)
    unresolved = [gap for gap in run["verification"]["gaps"] if gap["reason"] == "unresolved_claim"]
    assert [gap["query"] for gap in unresolved] == claims


async def test_a_source_with_a_credential_is_redacted(owner: Person) -> None:
    leak = await keep(owner, "Charge a card on staging", "procedure", "Use password: hunter2secret9 to charge a card.")
    await caught_up(owner)
    run = await plan(owner)
    pack = pack_of(run, "Implementation Notes")
    assert pack["redaction_count"] == 1
    assert [each["content_preview"] for each in pack["sources"] if each["id"] == leak] == [""]
    verified = await owner.call("synthesis_verify", goal=GOAL)
    assert ("no_citable_sources", []) in gaps(verified)
    drafted = await owner.call("synthesis_draft", goal=GOAL)
    assert "hunter2" not in str(drafted)


@pytest.mark.parametrize(
    "fields",
    [
        {"goal": ""}, {"goal": " "}, {"goal": "x" * 1001}, {"output_type": "poem"}, {"audience": "x" * 501},
        {"depth": "abyss"}, {"seed_query": "x" * 1001}, {"project": "x" * 501}, {"domain": "x" * 201},
        {"entity_ids": ["x"] * 101}, {"decision_ids": ["x"] * 101}, {"task_ids": ["x"] * 101},
        {"artifact_ids": ["x"] * 101}, {"required_sections": [{"title": "x"}] * 13},
        {"required_sections": [{"title": "x" * 201}]}, {"required_sections": [{"title": ""}]},
        {"required_sections": [{"title": "x", "prompt": "x" * 2001}]},
        {"required_sections": [{"title": "x", "required_source_ids": ["x"] * 51}]},
        {"constraints": ["x"] * 51}, {"max_sections": 0}, {"max_sections": 13},
    ],
    ids=str,
)  # fmt: skip
async def test_what_is_out_of_bounds_is_refused_by_name(owner: Person, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailed) as refused:
        await plan(owner, **fields)
    assert next(iter(fields)) in str(refused.value.details["field"])
    assert refused.value.remediation


async def test_what_is_just_within_bounds_is_planned(owner: Person) -> None:
    run = await plan(owner, goal="x" * 1000, audience="x" * 500, seed_query="x" * 1000, entity_ids=["x"] * 100,
                     constraints=["x"] * 50, max_sections=12)  # fmt: skip
    assert run["status"] == "planned"


async def test_null_is_what_was_left_out(owner: Person) -> None:
    run = await plan(owner, entity_ids=None, required_sections=None, constraints=None, audience=None, project=None)
    assert run["run_id"] == (await plan(owner))["run_id"]


async def test_a_project_that_is_not_there_is_refused_like_one_that_is_hidden(owner: Person, member: Person) -> None:
    hidden = await keep(owner, "P", "project", metadata={"visibility": "private"})
    said = []
    for named in (hidden, "project_000000000000"):
        with pytest.raises(Forbidden, match="project_access_denied") as refused:
            await plan(member, project=named)
        said.append(refused.value.message.replace(named, "<id>"))
    assert said[0] == said[1]


async def test_a_project_has_its_own_records_and_those_of_none(owner: Person) -> None:
    one, two = [await keep(owner, name, "project") for name in ("One", "Two")]
    mine = await keep(owner, "Charge cards in One", "decision", GOAL, metadata={"project_id": one})
    theirs = await keep(owner, "Charge cards in Two", "decision", GOAL, metadata={"project_id": two})
    anybodys = await keep(owner, "Charge cards anywhere", "decision", GOAL)
    await caught_up(owner)
    found = all_sources(await plan(owner, project=one))
    assert {mine, anybodys} <= found
    assert theirs not in found


async def test_a_handbook_tells_of_what_no_search_brings_up(owner: Person) -> None:
    project = await keep(owner, "Lighthouse", "project", "Lamps on the coast.")
    filed = {"metadata": {"project_id": project}}
    decision = await keep(owner, "Tea at four", "decision", "With milk.", **filed)
    task = await keep(owner, "Paint the door", "task", "Red.", metadata={"project_id": project, "status": "doing"})
    await caught_up(owner)
    book = await owner.call("synthesis_handbook", project=project)
    assert pack_of(book, "Decisions In Force")["source_ids"] == [decision]
    assert task in pack_of(book, "Current Work")["source_ids"]
    assert book["artifact"]["markdown"].startswith("# Handbook of Lighthouse\n")
    assert (await owner.call("synthesis_handbook"))["outline"]["output_type"] == "handbook"


async def test_what_is_named_brings_its_neighbours(owner: Person) -> None:
    rule = await keep(owner, "Keep ladders dry", "guide", "Wet rungs are slippery.")
    lamp = await keep(owner, "Lamps", "note", "Lamps turn.", related_to=[f"requires:{rule}"])
    await caught_up(owner)
    assert all_sources(await plan(owner, goal="Volcano insurance", entity_ids=[lamp])) == {lamp, rule}
    alone = await plan(owner, goal="Volcano insurance", entity_ids=[lamp], include_neighborhoods=False)
    assert all_sources(alone) == {lamp}


async def test_where_a_record_is_filed_is_no_neighbour(owner: Person) -> None:
    project = await keep(owner, "Lighthouse", "project", "Lamps on the coast.")
    lamp = await keep(owner, "Lamps turn", "decision", "Every 9 seconds.", metadata={"project_id": project})
    await caught_up(owner)
    assert all_sources(await plan(owner, goal="Volcano insurance", decision_ids=[lamp])) == {lamp}
