"""Both surfaces call one function under one policy: the same arguments give the same answer and the same refusal."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from mcp.client import Client

from rest_bridge.application import build_asgi
from tests.people import Person, tokens_made
from tests.rest_bridge.harness import client_of
from tools.app import App
from tools.catalogue import OPERATIONS, by_name
from tools.frame.answers import answer_of
from tools.frame.operation import Operation
from tools.frame.threads import in_thread
from tools.mcp_server import build_mcp_server
from tools.records.receipts import after_write

pytestmark = pytest.mark.anyio

VOLATILE = ("operation_id", "message_key", "stage_timings_ms", "updated_at", "revision")
BOTH = [operation for operation in OPERATIONS if operation.route and operation.tool]
RUN: dict[str, Any] = {
    "source_id": "run-1", "goal": "Retry with jitter", "project_id": "<project>",
    "observations": [{"id": "o1", "ordinal": 0, "evidence": [{"id": "e1", "content": "It worked."}]}],
}  # fmt: skip
GOOD: dict[str, dict[str, Any]] = {
    "search": {"query": "jitter", "boost_recent": False, "min_score": 0.01},
    "context": {"goal": "Retry with less jitter", "limit": 5},
    "synthesis_plan": {"goal": "Retry with less jitter"},
    "synthesis_draft": {"goal": "Retry with less jitter", "output_type": "report", "output_format": "json"},
    "cite": {"cited_ids": ["nowhere"]},
    "list_entities": {"page_size": 5},
    "get_entity": {"entity_id": "<id>"},
    "update_entity": {"entity_id": "<id>", "category": "net"},
    "delete_entity": {"entity_id": "<id>"},
    "explore": {"types": ["pattern"]},
    "logs": {"limit": 5},
    "add_relation": {"source_id": "<id>", "name": "ABOUT", "target_id": "<other>"},
    "end_relation": {"relation_id": "<relation>"},
    "list_relations": {"entity_id": "<id>"},
    "temporal": {"entity_id": "<id>", "as_of": "2999-01-01"},
    "reflect": {"content": "What if we warm the cache?", "task_ids": [], "persist_source": False},
    "remember": {"title": "Jitter", "content": "Retries need jitter.", "related_to": ["<id>"]},
    "record_experience": {"experience": RUN},
    "experience_evidence": {"source_id": "run-1", "observation_id": "o1", "evidence_id": "e1"},
}
BAD: dict[str, dict[str, Any]] = {
    "search": {"query": "jitter", "limit": 51},
    "context": {"goal": "Retry with jitter", "project": "nowhere"},
    "synthesis_plan": {"goal": "Retry with jitter", "project": "nowhere"},
    "synthesis_draft": {"goal": "Retry with jitter", "memory_scope": "project"},
    "cite": {"cited_ids": []},
    "list_entities": {"page_size": 0},
    "get_entity": {"entity_id": "nowhere"},
    "update_entity": {"entity_id": "nowhere", "name": "x"},
    "delete_entity": {"entity_id": "nowhere"},
    "explore": {"mode": "related", "entity_id": "nowhere"},
    "logs": {"limit": 501},
    "add_relation": {"source_id": "nowhere", "name": "ABOUT", "target_id": "nowhere"},
    "end_relation": {"relation_id": "nowhere"},
    "list_relations": {"entity_id": "nowhere"},
    "temporal": {"as_of": "soon"},
    "reflect": {"content": "We decided.", "related_to": ["nowhere"]},
    "remember": {"title": "x", "content": "y", "related_to": ["nowhere"]},
    "record_experience": {"experience": RUN | {"project_id": None}},
    "experience_evidence": {"source_id": "nowhere"},
}
RECOGNISED = {"remember", "record_experience"}
"""What tells when it is told the same again: only then are two answers alike."""


@pytest.fixture
async def http(app: App) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(build_asgi(app)) as client:
        yield client


async def over_rest(http: httpx2.AsyncClient, person: Person, operation: Operation, fields: dict[str, Any]) -> Any:
    assert operation.route is not None
    path = operation.route.path.format(**fields)
    rest = {name: value for name, value in fields.items() if f"{{{name}}}" not in operation.route.path}
    body = {"params": rest} if operation.route.method in ("GET", "DELETE") else {"json": rest}
    answer = await http.request(
        operation.route.method, path, headers={"Authorization": f"Bearer {person.token}"}, **body
    )
    return answer.json() if answer.content else {}


async def over_mcp(person: Person, operation: Operation, fields: dict[str, Any]) -> tuple[bool, Any, str]:
    principal = await in_thread(person.app.accounts.authenticate, person.token)
    async with Client(build_mcp_server(person.app, OPERATIONS, caller=lambda _: principal)) as client:
        result = await client.call_tool(operation.name, fields)
    text = "".join(getattr(part, "text", "") for part in result.content)
    return bool(result.is_error), result.structured_content, text


def settled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: settled(item) for key, item in value.items() if key not in VOLATILE}
    return [settled(item) for item in value] if isinstance(value, list) else value


async def entity(person: Person) -> str:
    made = await person.call("create_entity", name="Retry with jitter", entity_type="pattern", sync=True)
    return str(made["id"])


async def named(person: Person, fields: dict[str, Any]) -> dict[str, Any]:
    first, other = await entity(person), await entity(person)
    fact = await person.call("add_relation", source_id=first, name="ABOUT", target_id=other)
    text = json.dumps(fields)
    project = str((await person.call("create_entity", name="Quarry", entity_type="project"))["id"])
    for place, record_id in (
        ("<id>", first), ("<other>", other), ("<relation>", fact["id"]), ("<project>", project)
    ):  # fmt: skip
        text = text.replace(place, record_id)
    if "run-1" in text:
        await person.call("record_experience", experience=RUN | {"project_id": project})
    return dict(json.loads(text))


def test_every_operation_on_both_surfaces_is_compared_here() -> None:
    assert {operation.name for operation in BOTH} == set(GOOD) == set(BAD)


@pytest.mark.parametrize("operation", BOTH, ids=lambda operation: operation.name)
async def test_both_surfaces_answer_alike(operation: Operation, http: httpx2.AsyncClient, owner: Person) -> None:
    fields = [await named(owner, GOOD[operation.name])]
    fields.append(await named(owner, GOOD[operation.name]) if operation.name == "delete_entity" else fields[0])
    if operation.name in RECOGNISED:
        await over_rest(http, owner, operation, fields[0])
    await tokens_made(owner)
    rest = await over_rest(http, owner, operation, fields[0])
    failed, structured, text = await over_mcp(owner, operation, fields[1])
    assert not failed, text
    assert operation.tool is not None
    result = operation.result.model_validate(rest) if rest else None
    read = operation.tool.answer(result) if operation.tool.answer and result else result
    if read is not None:
        told = await after_write(owner.app, await in_thread(owner.app.accounts.authenticate, owner.token), result)
        assert settled(structured or {}) == settled(told | answer_of(read, operation.tool.omit_result))


@pytest.mark.parametrize("operation", BOTH, ids=lambda operation: operation.name)
async def test_both_surfaces_refuse_alike(operation: Operation, http: httpx2.AsyncClient, owner: Person) -> None:
    rest = await over_rest(http, owner, operation, BAD[operation.name])
    failed, _, text = await over_mcp(owner, operation, BAD[operation.name])
    assert failed
    assert rest["message"] in text
    assert rest["remediation"] in text


@pytest.mark.parametrize(
    "operation", [each for each in BOTH if "viewer" not in (each.roles or ())], ids=lambda operation: operation.name
)
async def test_a_role_that_is_not_enough_is_refused_alike(
    operation: Operation, http: httpx2.AsyncClient, owner: Person, viewer: Person
) -> None:
    fields = await named(owner, GOOD[operation.name])
    rest = await over_rest(http, viewer, operation, fields)
    failed, _, text = await over_mcp(viewer, operation, fields)
    assert rest["error"] == "forbidden"
    assert failed
    assert rest["message"] in text


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.tool], ids=lambda operation: operation.name)
async def test_a_misspelt_argument_is_named_to_agents(operation: Operation, owner: Person) -> None:
    failed, _, text = await over_mcp(owner, operation, {"limt_of_nothing": 5})
    assert failed
    assert "limt_of_nothing" in text or "required" in text


async def test_a_key_that_is_an_argument_is_one_over_rest_as_well(http: httpx2.AsyncClient, owner: Person) -> None:
    body = {"title": "Jitter", "content": "Retries need jitter.", "idempotency_key": "once"}
    said = [await over_rest(http, owner, by_name["remember"], body) for _ in range(2)]
    assert [each["already_known"] for each in said] == [False, False]
    assert [each["mutation_receipt"]["replayed"] for each in said] == [False, True]
    for each in (body, body | {"idempotency_key": "twice"}):
        failed, structured, _ = await over_mcp(owner, by_name["remember"], each)
        assert not failed
        assert structured["already_known"]


async def test_a_misspelt_field_is_ignored_over_rest(http: httpx2.AsyncClient, owner: Person) -> None:
    answer = await http.post(
        "/api/search", json={"query": "x", "limt": 5}, headers={"Authorization": f"Bearer {owner.token}"}
    )
    assert answer.status_code == 200
