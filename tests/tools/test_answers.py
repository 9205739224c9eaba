"""Answers for agents: structure and text of every tool, and the cost of `tools/list`."""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from stores.errors import Forbidden
from tests.people import Person, caught_up, person, tokens_made
from tools.app import App
from tools.catalogue import OPERATIONS
from tools.frame.answers import answer_of, text_of
from tools.frame.threads import in_thread
from tools.mcp_server import CORE, Toolbox, build_mcp_server
from tools.records.receipts import CHANGE

pytestmark = pytest.mark.anyio

SAID = (
    "Retries of the payment gateway wait with full jitter, because all workers woke in the same second and the "
    "gateway refused them. {} measured it on the {}th of March: of 900 charges that were retried 870 went through, "
    "where before it were 410. Whoever changes the pause has to run the load test of the gateway first, and to tell "
    "the people on call."
)


async def asked(person: Person, name: str, /, **arguments: Any) -> tuple[dict[str, Any], str]:
    principal = await in_thread(person.app.accounts.authenticate, person.token)
    async with Client(build_mcp_server(person.app, OPERATIONS, caller=lambda _: principal)) as client:
        result = await client.call_tool(name, arguments)
    text = "".join(getattr(part, "text", "") for part in result.content)
    assert not result.is_error, text
    return dict(result.structured_content or {}), text


def length(answer: Mapping[str, Any]) -> int:
    return len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))


@pytest.fixture
async def known(owner: Person) -> dict[str, str]:
    """Records of every kind, linked to each other; the ids by a short name."""
    project = (await owner.call("create_entity", name="Billing", entity_type="project", sync=True))["id"]
    kinds = ("decision", "rule", "pattern", "procedure", "episode", "note", "guide", "claim", "plan", "idea")
    made = [
        await owner.call(
            "create_entity", name=f"Retry the gateway with jitter, {kind} {number}", entity_type=kind, tags=["pay"],
            content=SAID.format("Ada", number), metadata={"project_id": project}, languages=["python"],
            sync=number == len(kinds),
        )
        for number, kind in enumerate(kinds, start=1)
    ]  # fmt: skip
    await owner.call("create_task", title="Run the load test of the gateway", project_id=project)
    first, *others = (each["id"] for each in made)
    facts = [await owner.call("add_relation", source_id=first, name="SUPPORTS", target_id=each) for each in others[:6]]
    await owner.call("store_raw_memory", raw_content=SAID.format("Bob", 11), title="What Bob said", sync=True)
    await tokens_made(owner)
    return {"project": project, "first": first, "other": others[7], "gone": others[8], "fact": facts[0]["id"]}


CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "How long do retries of the payment gateway wait?"},
    "context": {"goal": "Change the pause between retries of the payment gateway"},
    "cite": {"cited_ids": ["{first}", "nowhere"]},
    "add": {"title": "Jitter", "content": SAID, "entity_type": "rule", "project": "{project}"},
    "list_entities": {},
    "get_entity": {"entity_id": "{first}"},
    "update_entity": {"entity_id": "{first}", "category": "net"},
    "delete_entity": {"entity_id": "{gone}"},
    "manage": {"action": "suggest", "entity_id": "{project}"},
    "explore": {"mode": "related", "entity_id": "{first}"},
    "expand_neighbors": {"entity_ids": ["{first}"]},
    "fetch_slice": {"entity_id": "{first}"},
    "add_relation": {"source_id": "{other}", "name": "ABOUT", "target_id": "{first}", "fact": "It is about jitter."},
    "list_relations": {"entity_id": "{first}"},
    "end_relation": {"relation_id": "{fact}"},
    "temporal": {"entity_id": "{first}"},
    "reflect": {"content": "We decided to wait with full jitter. TODO: run the load test.", "persist": True},
    "synthesis_plan": {"goal": "How retries of the payment gateway wait"},
    "synthesis_verify": {"goal": "How retries of the payment gateway wait"},
    "synthesis_draft": {"goal": "How retries of the payment gateway wait", "output_type": "report"},
    "remember": {"title": "Jitter", "content": SAID.format("Cyd", 12), "probes": ["who measured the jitter?"]},
    "record_experience": {
        "experience": {
            "source_id": "run-1", "goal": "Retry with jitter", "project_id": "{project}",
            "observations": [{"id": "o1", "ordinal": 0, "evidence": [{"id": "e1", "content": SAID}]}],
        }
    },
    "experience_evidence": {"source_id": "run-1", "observation_id": "o1", "evidence_id": "e1"},
    "logs": {"limit": 20},
}  # fmt: skip


ROWS: dict[str, dict[str, Any]] = {
    "explore": {"limit": 200},
    "explore one": {"limit": 1},
    "explore tasks": {"types": "task"},
    "list_entities": {"page_size": 200},
    "search": {"query": "How long do retries of the payment gateway wait?", "limit": 50, "include_content": False},
    "add": {"title": "Jitter", "content": SAID, "entity_type": "note"},
}
"""Answers of many short records, of which `known` holds some."""


def test_every_tool_is_measured_here() -> None:
    assert {operation.name for operation in OPERATIONS if operation.tool} == set(CALLS)


@pytest.fixture
async def answers(owner: Person, known: dict[str, str]) -> dict[str, tuple[dict[str, Any], str]]:
    """The structure and text of each tool's answer."""
    found = {}
    for name, call in CALLS.items():
        arguments = json.dumps(call)
        for place, record_id in known.items():
            arguments = arguments.replace(f"{{{place}}}", record_id)
        found[name] = await asked(owner, name, **json.loads(arguments))
    return found


async def test_structure_and_text_of_every_tool_say_the_same_and_are_short(
    answers: dict[str, tuple[dict[str, Any], str]], known: dict[str, str]
) -> None:
    assert {name for name, (answer, text) in answers.items() if length(answer) > 1.3 * len(text)} == set()
    for name, (answer, text) in answers.items():
        said = {line for value in strings(answer) for line in value.splitlines()}
        assert {line for line in said if " ".join(line.split()) not in " ".join(text.split())} == set(), name
    hits, _ = answers["search"]
    assert len(hits["results"]) == 10
    assert length(hits) <= 6_500
    assert {*hits["results"][0]} == {"id", "type", "name", "score", "by", "at", "content"}
    assert "Bob measured it" in hits["results"][0]["content"]
    pack, text = answers["context"]
    assert pack == {"markdown": text}
    assert "(decision, by owner, 20" in text
    assert {*answers["get_entity"][0]} >= {"by", "at"} <= {*hits["results"][0]}
    assert answers["delete_entity"][0] == {"deleted": [known["gone"]]}
    assert not {"description", "source_file", "category", "revision"} & answers["get_entity"][0].keys()


def strings(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [each for item in (value.values() if isinstance(value, dict) else value) for each in strings(item)]
    return [value] if isinstance(value, str) else []


async def test_a_pack_stays_within_its_budget_and_is_told_once(owner: Person, known: dict[str, str]) -> None:
    pack, _ = await asked(owner, "context", goal="retries of the gateway", markdown_token_budget=500)
    assert len(pack["markdown"]) <= 4 * 500
    audited, _ = await asked(owner, "context", goal="retries of the gateway", audit=True)
    assert audited["audit"][0]["metadata"]["retrieval_signals"]


async def test_rows_of_short_names_are_short_in_the_structure(owner: Person, known: dict[str, str]) -> None:
    same = [{"name": f"N{number}", "content": SAID, "entity_type": "note"} for number in range(5)]
    await owner.call("bulk_create_entities", entities=same, sync=True)
    found = {name: await asked(owner, name.split()[0], **call) for name, call in ROWS.items()}
    assert len(found["add"][0]["conflicts"]) == 5
    assert {name for name, (answer, text) in found.items() if length(answer) > 1.3 * len(text)} == set()


async def test_what_is_not_there_is_said(owner: Person) -> None:
    answer, text = await asked(owner, "search", query="sourdough")
    assert answer["results"] == []
    assert "results: none" in text


async def test_agents_filter_page_and_ask_how_it_was_found(owner: Person, known: dict[str, str]) -> None:
    assert len((await asked(owner, "explore", tags="pay", offset=9))[0]["entities"]) == 1
    found, text = await asked(owner, "search", query="retry the gateway", include_retrieval_diagnostics=True)
    assert found["results"][0]["id"] in found["diagnostics"]["source_details"]
    assert "source_details" in text


async def test_weak_hits_beside_a_strong_one_are_cut_for_agents_alone(owner: Person) -> None:
    said = {"Boiler key": "The spare key hangs behind the boiler.", "Bakery": "The bakery sells rye bread at noon."}
    for name, content in said.items():
        await owner.call("create_entity", name=name, content=content, sync=True)
    query = {"query": "Where does the spare key hang, behind the boiler?", "min_score": 0.0}
    rest = await owner.call("search", **query)
    assert [hit["name"] for hit in rest["results"]] == ["Boiler key", "Bakery"]
    answer, _ = await asked(owner, "search", **query, limit=1)
    assert answer["has_more"], "the page is full of strong hits"
    answer, _ = await asked(owner, "search", **query)
    assert [hit["name"] for hit in answer["results"]] == ["Boiler key"]
    assert not answer["has_more"]
    assert not (await asked(owner, "search", **query, offset=1))[0].get("results")


async def test_forgetting_what_was_remembered_forgets_its_words(owner: Person) -> None:
    for keep in (False, True):
        said = await owner.call("remember", title=f"Spare key {keep}", content=f"Behind the boiler {keep}.")
        gone, _ = await asked(owner, "delete_entity", entity_id=said["id"], keep_memory=keep)
        ids = [said["id"], said["raw_memory_id"]]
        assert (gone["deleted"], gone.get("kept", [])) == ((ids[:1], ids[1:]) if keep else (ids, []))
        assert [each["id"] for each in (await owner.call("list_captures"))["captures"]] == (ids[1:] if keep else [])
    said = await owner.call("remember", title="Spare key", content="Below the mat.")
    gone, _ = await asked(owner, "delete_entity", entity_id=said["raw_memory_id"])
    assert gone == {"deleted": [said["raw_memory_id"]], "kept": [said["id"]]}


async def test_nobody_erases_a_memory_that_is_not_theirs_to_read(owner: Person, member: Person) -> None:
    said = await member.call("remember", title="Spare key", content="Behind the boiler.")
    everybody = f"everybody in organization {owner.signed.identity.organization.name}"
    shared, _ = await asked(member, "update_entity", entity_id=said["id"], metadata={"memory_scope": "organization"})
    assert shared["readable_by"] == everybody + CHANGE
    gone, _ = await asked(owner, "delete_entity", entity_id=said["id"])
    assert gone == {"deleted": [said["id"]]}
    assert (await member.call("get_entity", entity_id=said["raw_memory_id"]))["content"] == "Behind the boiler."


async def test_nobody_leaves_words_behind_that_only_others_may_erase(owner: Person, member: Person) -> None:
    project = (await owner.call("create_entity", name="Billing", entity_type="project", sync=True))["id"]
    other = await person(owner.app, "other", of=owner, role="member")
    for each in (member, other):
        await owner.call("add_project_member", project_id=project, user_id=each.user_id, role="project_contributor")
    said = await member.call("remember", title="Spare key", content="Behind the boiler.", project=project, kind="rule")
    refused = await other.refused("delete_entity", Forbidden, match=said["raw_memory_id"], entity_id=said["id"])
    assert "keep_memory" in str(refused.remediation)
    assert (await other.call("get_entity", entity_id=said["id"]))["content"] == "Behind the boiler."
    gone, _ = await asked(other, "delete_entity", entity_id=said["id"], keep_memory=True)
    assert gone["deleted"] == [said["id"]]
    assert (await other.call("get_entity", entity_id=said["raw_memory_id"]))["content"] == "Behind the boiler."
    again = await member.call("remember", title="Spare key", content="Below the mat.", project=project)
    gone, _ = await asked(member, "delete_entity", entity_id=again["id"])
    assert gone["deleted"] == [again["id"], again["raw_memory_id"]]


async def test_an_empty_text_erases_nothing(owner: Person) -> None:
    kept = {"content": "Behind the boiler.", "description": "Of the key."}
    note = (await owner.call("create_entity", name="Key", sync=True, **kept))["id"]
    project = (await owner.call("create_entity", name="Home", entity_type="project"))["id"]
    task = (await owner.call("create_task", title="Move it", description="Of the key.", project_id=project))["task_id"]
    await asked(owner, "update_entity", entity_id=note, name="Spare key", content="", description="")
    await asked(owner, "manage", action="update_task", entity_id=task, data={"name": "Move", "description": ""})
    found = await owner.call("get_entity", entity_id=note)
    assert (found["name"], {name: found[name] for name in kept}) == ("Spare key", kept)
    assert (await owner.call("get_entity", entity_id=task))["description"] == "Of the key."


async def test_what_is_advised_to_change_readers_changes_them(owner: Person, member: Person) -> None:
    words = "Behind the boiler."
    said, _ = await asked(owner, "remember", name="Spare key", content=words)
    assert said["readable_by"] == f"private: only you{CHANGE}"
    raw = said["raw_memory_id"]
    labelled, _ = await asked(owner, "update_entity", entity_id=raw, name="Key")
    advice = "private: only you; to share its words, remember them (or reflect on them) with another memory_scope"
    assert labelled["readable_by"] == advice
    everybody = f"everybody in organization {owner.signed.identity.organization.name}"
    shared = {"metadata": {"memory_scope": "organization"}}
    open_again, _ = await asked(owner, "remember", name="Spare key", content=words, memory_scope="organization")
    assert open_again["readable_by"] == everybody + CHANGE
    boast, _ = await asked(owner, "remember", name="Other key", content="Below the mat.", **shared)
    assert boast["readable_by"] == said["readable_by"], "metadata of a new memory shares nothing"
    for each, content in ((said["id"], words), (boast["id"], "Below the mat.")):
        assert (await asked(owner, "update_entity", entity_id=each, **shared))[0]["readable_by"].startswith(everybody)
        assert (await member.call("get_entity", entity_id=each))["content"] == content
    back, _ = await asked(owner, "update_entity", entity_id=boast["id"], metadata={"memory_scope": "private"})
    assert back["readable_by"] == said["readable_by"]


async def test_no_write_waits_twice(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    wait = owner.app.indexer.applied_within

    async def counting(organization: str, sequence: int, *more: Any) -> Any:
        waited.append(sequence)
        return await wait(organization, sequence, *more)

    monkeypatch.setattr(owner.app.indexer, "applied_within", counting)
    for name, arguments in (("add", {"name": "Tide", "content": "x"}), ("remember", {"name": "Ebb", "content": "y"})):
        waited.clear()
        await asked(owner, name, **arguments)
        assert len(waited) == 1, name


async def test_every_write_says_who_reads_it_and_is_found_at_once(owner: Person) -> None:
    zoo = (await owner.call("create_entity", name="Zoo", entity_type="project", sync=True))["id"]
    task = (await owner.call("create_task", title="Feed the capybara", project_id=zoo))["task_id"]
    note = (await owner.call("create_entity", name="Pond", content="A pond.", sync=True))["id"]
    for name, arguments, query in (
        ("update_entity", {"entity_id": note, "content": "x " * 9000 + "The walrus guards the valve."}, "walrus valve"),
        ("manage", {"action": "start_task", "entity_id": task}, None),
        ("manage", {"action": "complete_task", "entity_id": task, "data": {"learnings": "Hay floats."}}, None),
        ("add_relation", {"source_id": task, "name": "REQUIRES", "target_id": note}, None),
        ("synthesis_draft", {"goal": "the walrus and the valve", "remember": True}, None),
        ("reflect", {"content": "We decided to drain the narwhal basin.", "persist": True}, "drain narwhal basin"),
    ):
        answer, _ = await asked(owner, name, **arguments)
        assert answer["readable_by"], name
        assert len(str(answer)) < 8_000, name
        if query is not None:
            best = (await owner.call("search", query=query))["results"][0]
            assert best["score"] > 0.5, (name, best)
    kept, _ = await asked(owner, "reflect", content="We decided to keep the basin.")
    assert kept["readable_by"].endswith("remember them (or reflect on them) with another memory_scope")
    whole, _ = await asked(owner, "get_entity", entity_id=note)
    assert (len(whole["content"]), whole.get("content_length")) == (18_028, None)
    long = (await owner.call("store_raw_memory", raw_content="word " * 40_000, title="Long"))["id"]
    part, _ = await asked(owner, "get_entity", entity_id=long)
    assert (len(part["content"]), part["content_length"]) == (20_000, 200_000)


def test_what_the_caller_put_into_metadata_keeps_its_names_and_numbers() -> None:
    own = {"title": "Release", "revision": 7, "ratio": 0.123456, "note": None}
    given = {"title": "One", "revision": 2, "metadata": {**own, "principal_id": "ada", "scope_key": None}}
    assert answer_of(given) == {"name": "One", "metadata": own}
    assert "note: none" in text_of(answer_of(given))


@pytest.mark.parametrize(
    ("address", "role", "more"),
    [
        (b"", "owner", set()),
        (b"toolsets=facts", "owner", {"add_relation", "list_relations", "end_relation"}),
        (b"toolsets=all", "owner", {operation.name for operation in OPERATIONS if operation.tool}),
        (b"toolsets=synthesis,%20admin", "member", {"synthesis_plan", "synthesis_verify", "cite", "list_entities"}),
    ],
)
async def test_the_listed_tools_are_few_and_more_are_switched_on_by_name(
    app: App, owner: Person, address: bytes, role: Any, more: set[str]
) -> None:
    principal = replace(await in_thread(app.accounts.authenticate, owner.token), role=role)
    toolbox = Toolbox(app, OPERATIONS, lambda _: principal)
    context: Any = SimpleNamespace(request=SimpleNamespace(scope={"query_string": address}))
    listed = await toolbox.list_tools(context, None)
    core = {operation.name for operation in OPERATIONS if operation.tool and operation.tool.toolset == CORE}
    assert {tool.name for tool in listed.tools} == core | more
    if not more:
        shown = json.dumps(listed.model_dump(by_alias=True, mode="json", exclude_none=True), separators=(",", ":"))
        assert len(shown) <= 24_000
        assert len(listed.tools) <= 20


async def test_prompts_are_offered_as_commands(owner: Person) -> None:
    principal = await in_thread(owner.app.accounts.authenticate, owner.token)
    async with Client(build_mcp_server(owner.app, OPERATIONS, caller=lambda _: principal)) as client:
        assert [each.name for each in (await client.list_prompts()).prompts] == ["recall", "wrap_up"]
        [said] = (await client.get_prompt("recall", {"goal": "Add a card"})).messages
        assert "Goal: Add a card" in getattr(said.content, "text", "")
        [said] = (await client.get_prompt("wrap_up", {"project": "billing"})).messages
        assert "`project` billing" in getattr(said.content, "text", "")
        with pytest.raises(MCPError, match="needs the argument goal"):
            await client.get_prompt("recall")
        with pytest.raises(MCPError, match="There are recall, wrap_up"):
            await client.get_prompt("say")


async def test_every_write_says_who_can_read_it(owner: Person) -> None:
    project = (await owner.call("create_entity", name="Billing", entity_type="project", sync=True))["id"]
    hidden = {"visibility": "private"}
    secret = await owner.call("create_entity", name="Hush", entity_type="project", metadata=hidden, sync=True)
    everybody = f"everybody in organization {owner.signed.identity.organization.name}"
    note, notes = {"title": "t", "content": "Retries wait."}, {"content": "We decided to wait.", "persist": True}
    for tool, arguments, readers in (
        ("add", note, everybody),
        ("add", note | {"project": project}, f"{everybody}, as the project Billing ({project})"),
        ("add", note | {"project": secret["id"]}, f"members of project Hush ({secret['id']})"),
        ("add", note | {"metadata": {"memory_scope": "private"}}, f"private: only you{CHANGE}"),
        ("remember", note, f"private: only you{CHANGE}"),
        ("remember", note | {"project": project}, f"members of project Billing ({project})"),
        ("remember", note | {"memory_scope": "organization"}, everybody),
        ("reflect", notes, f"private: only you{CHANGE}"),
        ("reflect", notes | {"project": project}, f"members of project Billing ({project})"),
        ("reflect", notes | {"memory_scope": "organization"}, everybody),
    ):
        answer, _ = await asked(owner, tool, **arguments)
        assert str(answer["readable_by"]).startswith(readers), (tool, arguments)
        assert tool != "reflect" or answer["kept"]
    await caught_up(owner)
    found = await owner.call("search", query="decided to wait", memory_scope="organization", types=["raw_memory"])
    assert {each["metadata"]["memory_scope"] for each in found["results"]} == {"organization"}
