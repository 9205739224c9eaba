import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jsonschema_rs
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent, Tool
from structlog.testing import capture_logs

from auth.principal import Principal
from stores.errors import ValidationFailed
from tests.people import Person
from tests.rest_bridge.notes import Notes
from tools.app import App
from tools.catalogue import OPERATIONS
from tools.entities.create import AddRequest
from tools.frame.arguments import FOR_AGENTS, SYNONYMS, input_schema, names_for_agents
from tools.frame.operation import Operation
from tools.frame.operation import Tool as ToolEntry
from tools.frame.parsing import parse
from tools.mcp_server import INSTRUCTIONS, build_mcp_server, describe
from tools.memory.remember import RememberRequest
from tools.retrieval.plan import AGENTS_SCORE
from tools.runtime.version import VERSION

pytestmark = pytest.mark.anyio

WRITE_SCOPED = ("synthesis_plan", "synthesis_verify")
"""Change nothing, and need the scope to write: synthesis does."""


def wire(tool: Tool) -> dict[str, Any]:
    return tool.model_dump(by_alias=True, mode="json", exclude_none=True)


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@asynccontextmanager
async def talking(
    app: App, operations: tuple[Operation, ...], principal: Principal | None, **options: Any
) -> AsyncIterator[Client]:
    server = build_mcp_server(app, operations, caller=lambda _context: principal)
    async with Client(server, **options) as client:
        yield client


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def ada(app: App, owner: Person) -> Principal:
    return app.accounts.authenticate(owner.token)


@pytest.fixture
async def client(app: App, notes: Notes, ada: Principal) -> AsyncIterator[Client]:
    async with talking(app, notes.operations(), ada) as client:
        yield client


async def test_the_server_says_what_it_is_and_how_to_use_it(app: App, notes: Notes, ada: Principal) -> None:
    async with talking(app, notes.operations(), ada, mode="legacy") as client:
        assert client.server_info.name == "engrain"
        assert client.server_info.version == VERSION
        assert client.instructions == INSTRUCTIONS
    assert len(INSTRUCTIONS) < 1200


async def test_a_tool_shows_its_arguments_and_annotations(client: Client) -> None:
    [tool] = [tool for tool in (await client.list_tools()).tools if tool.name == "create_note"]
    assert tool.description == "Keep a note. It is there at once."
    assert set(tool.input_schema["properties"]) == {"text", "stars", "tags", "due", "metadata"}
    assert tool.input_schema["required"] == ["text"]
    assert tool.input_schema["additionalProperties"] is False
    assert tool.annotations is not None
    assert wire(tool)["annotations"] == {
        "readOnlyHint": False, "destructiveHint": False, "openWorldHint": False,
    }  # fmt: skip


async def test_a_tool_that_is_not_listed_can_be_called(client: Client, notes: Notes) -> None:
    await client.call_tool("create_note", {"text": "hello"})
    result = await client.call_tool("delete_note", {"note_id": "note_1"})
    assert not result.is_error
    assert not notes.kept


@pytest.mark.parametrize("name", ["list_notes", "say", "nonsense"])
async def test_what_is_no_tool_cannot_be_called(client: Client, name: str) -> None:
    with pytest.raises(MCPError, match=f"Unknown tool: {name}"):
        await client.call_tool(name, {})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["text", "required"]), ({"text": "x", "strs": 3}, ["strs", "did you mean stars?"]),
        ({"text": "x", "stars": 9}, ["stars", "5"]), ({"text": "x", "sync": True}, ["sync"]),
        ({"text": "a\x00"}, ["U+0000"]), ({"text": ["x"]}, ["text", "string"]),
    ],
)  # fmt: skip
async def test_argument_errors_are_named(
    client: Client, notes: Notes, arguments: dict[str, Any], words: list[str]
) -> None:
    result = await client.call_tool("create_note", arguments)
    assert result.is_error
    for word in ["validation_error", *words]:
        assert word in text_of(result)
    assert "pydantic" not in text_of(result)
    assert not notes.kept


async def test_a_fault_is_told_with_its_message_and_the_way_out(client: Client) -> None:
    result = await client.call_tool("read_note", {"note_id": "nope"})
    assert result.is_error
    assert text_of(result).startswith("not_found: There is no note nope.")
    assert "Check the id" in text_of(result)


async def test_an_unexpected_error_is_logged_once_and_told_to_nobody(client: Client) -> None:
    with capture_logs() as lines:
        result = await client.call_tool("break_down", {})
    assert result.is_error
    assert text_of(result).startswith("internal_error")
    assert "hunter2" not in text_of(result)
    [line] = [line for line in lines if line["event"] == "internal_error"]
    assert line["tool"] == "break_down"
    assert line["exc_info"]


async def test_without_a_caller_nothing_is_done_for_the_local_owner(app: App, notes: Notes) -> None:
    server = build_mcp_server(app, notes.operations())
    async with Client(server) as client:
        result = await client.call_tool("create_note", {"text": "x"})
        assert text_of(result).startswith("authentication_required")
        with pytest.raises(MCPError, match="Authentication"):
            await client.read_resource("engrain://stats")


async def test_resources_are_json_in_plain_text(client: Client) -> None:
    listed = {str(resource.uri) for resource in (await client.list_resources()).resources}
    assert listed == {"engrain://health", "engrain://stats"}
    for uri, key in (("engrain://health", "indexes"), ("engrain://stats", "entity_counts")):
        [content] = (await client.read_resource(uri)).contents
        assert content.mime_type == "text/plain"
        assert key in json.loads(content.text)  # type: ignore[union-attr]


async def test_an_unknown_resource_is_a_protocol_error(client: Client) -> None:
    with pytest.raises(MCPError, match="Unknown resource"):
        await client.read_resource("engrain://secrets")


CATALOGUE = [pytest.param(each, each.tool, id=each.name) for each in OPERATIONS if each.tool]


@pytest.mark.parametrize(("operation", "tool"), CATALOGUE)
def test_every_tool_of_the_catalogue_is_well_described(operation: Operation, tool: ToolEntry) -> None:
    shown = describe(operation, tool)
    assert shown.description
    assert len(shown.description) <= 400
    assert all(field["description"] for field in shown.input_schema["properties"].values())
    jsonschema_rs.meta.validate({**shown.input_schema, "$schema": "https://json-schema.org/draft/2020-12/schema"})
    assert not (tool.read_only and tool.destructive)
    assert operation.scope == ("read" if tool.read_only and operation.name not in WRITE_SCOPED else "write")


SCOPED = {"title": "t", "content": "c", "metadata": {"memory_scope": "cosmic"}}


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("add", SCOPED, "'cosmic' is not a memory scope; use one of"), ("add", SCOPED, "(argument metadata.memory_"),
        ("search", {"query": "q", "since": "soon"}, "validation_error: since is not a date"),
        ("search", {"query": "q", "limit": 0}, "validation_error: limit: "),
        ("search", {"query": "q", "limit": True}, "validation_error: limit: Input should be a valid integer"),
        ("search", {"query": "q", "min_score": True}, "validation_error: min_score: Input should be a valid number"),
        ("remember", {"title": "t", "content": "c", "spans": [{"start": 0, "end": 1, "stop": 1}]},
         "validation_error: spans.0.stop is no field of spans.0, which has start, end. "),
    ],
)  # fmt: skip
async def test_errors_use_argument_names(
    app: App, ada: Principal, name: str, arguments: dict[str, Any], words: str
) -> None:
    async with talking(app, OPERATIONS, ada) as client:
        refused = await client.call_tool(name, arguments)
    assert refused.is_error
    assert words in text_of(refused)
    assert "body." not in text_of(refused)


async def test_agents_are_shown_defaults_of_their_own(app: App, ada: Principal) -> None:
    async with talking(app, OPERATIONS, ada) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["search"].input_schema["properties"]["min_score"]["default"] == AGENTS_SCORE


def value_for(schema: dict[str, Any]) -> Any:
    kind = schema.get("type")
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "array":
        return [value_for(schema["items"])]
    if kind == "object":
        return {name: value_for(schema["properties"][name]) for name in schema.get("required", ())} or {"k": None}
    return {"integer": schema.get("minimum", 1), "number": 1, "boolean": True}.get(str(kind), "2026-01-01")


def read(operation: Operation, tool: ToolEntry, arguments: dict[str, Any]) -> dict[str, Any]:
    request = parse(operation.request, arguments, where="arguments", tool=tool)
    return request.model_dump(mode="json")


NULL_MEANS_SOMETHING = {("context", "markdown_token_budget")}


@pytest.mark.parametrize(("operation", "tool"), CATALOGUE)
def test_every_optional_argument_is_taken_as_models_send_it(operation: Operation, tool: ToolEntry) -> None:
    schema = input_schema(operation.request, tool)
    defined = schema.get("$defs", {})
    fields = {name: defined.get(str(each.get("$ref"))[8:], each) for name, each in schema["properties"].items()}
    # The schema does not repeat their long lists.
    listed = {"types": ["note"], "relationship_types": ["ABOUT"]}
    required = {name: value_for(fields[name]) for name in schema.get("required", ())}
    plain = read(operation, tool, required)
    for name in fields.keys() - required.keys():
        if (operation.name, name) not in NULL_MEANS_SOMETHING:
            assert read(operation, tool, {**required, name: None}) == plain, name
        assert read(operation, tool, {**required, name: ""}) == plain, name
    for name, field in fields.items():
        value = listed.get(name) or value_for(field)
        meant = read(operation, tool, {**required, name: value})
        texts = [value] if isinstance(value, str) else [json.dumps(value)]
        if field.get("type") == "array" and isinstance(value[0], str):
            texts += [value[0]]
            twice = read(operation, tool, {**required, name: [*value, *value]})
            if name not in ("constraints", "probes"):
                assert read(operation, tool, {**required, name: f"{value[0]}, {value[0]}"}) == twice, name
        for text in texts:
            assert read(operation, tool, {**required, name: text}) == meant, (name, text)


@pytest.mark.parametrize(("operation", "tool"), CATALOGUE)
def test_wrong_arguments_are_named_all_at_once_with_suggestions_that_hold(
    operation: Operation, tool: ToolEntry
) -> None:
    names = names_for_agents(operation.request)
    own = operation.request.model_fields.keys() - tool.omit
    known = {names.get(name, name) for name in own}
    taken = own | {word for word, shown in FOR_AGENTS.items() if shown in known}
    words = {word for each in SYNONYMS.values() for word in each.split()} - known - taken
    wrong = dict.fromkeys(words | tool.omit | {"zzz"}, "x")
    with pytest.raises(ValidationFailed) as refused:
        parse(operation.request, wrong, where="arguments", tool=tool)
    named = {each["field"].removeprefix("arguments.") for each in refused.value.details["errors"]}
    assert wrong.keys() <= named
    for word in wrong:
        with pytest.raises(ValidationFailed) as refused:
            parse(operation.request, {word: "x"}, where="arguments", tool=tool)
        for suggested in re.findall(r"did you mean (\w+)\?", refused.value.message):
            assert suggested in known
        if (example := re.search(r"for example with (\{.*\})\.$", refused.value.remediation)) is not None:
            read(operation, tool, json.loads(example[1]))


def test_agents_know_a_field_by_one_name_and_may_use_the_older_ones() -> None:
    shown: Counter[str] = Counter()
    for operation, tool in (case.values for case in CATALOGUE):
        assert isinstance(operation, Operation)
        assert isinstance(tool, ToolEntry)
        shown.update(input_schema(operation.request, tool)["properties"].keys())
    assert shown.keys().isdisjoint({"title", "entity_type", "kind"})
    assert min(shown["name"], shown["type"]) >= 3
    by_name = parse(RememberRequest, {"name": "Walrus", "content": "x", "type": "rule"})
    assert by_name == parse(RememberRequest, {"title": "Walrus", "content": "x", "kind": "rule"})
    assert by_name == parse(RememberRequest, {"title": "Walrus", "name": "", "content": "x", "entity_type": "Rule"})
    with pytest.raises(ValidationFailed, match=r"mean metadata\.memory_scope\?"):
        parse(AddRequest, {"name": "Walrus", "content": "x", "memory_scope": "private"}, where="arguments")
    with pytest.raises(ValidationFailed, match=r"^2 fields are wrong\. name is required\. type: "):
        parse(RememberRequest, {"content": "x", "kind": "zebra"}, where="arguments")
    with pytest.raises(ValidationFailed, match=r"^title: is another word for name, which"):
        parse(RememberRequest, {"title": "Walrus", "name": "Seal", "content": "x"}, where="arguments")


async def test_refusals_are_errors_and_defaults_survive_null(app: App, ada: Principal) -> None:
    async with talking(app, OPERATIONS, ada) as client:
        refused = await client.call_tool("manage", {"action": "complete"})
        assert refused.is_error
        assert "complete_task" in text_of(refused)
        assert not (await client.call_tool("search", {"query": "deploys", "min_score": None})).is_error
