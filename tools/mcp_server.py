"""The MCP server: one tool per operation with a `Tool`, and two resources."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qs

import mcp_types as types
import structlog
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json

from auth.origin import REQUEST_ID, header_of, origin_of
from auth.principal import Principal
from stores.errors import AuthenticationRequired, EngrainError
from stores.records import JsonObject
from tools.app import App
from tools.frame.answers import answer_of, text_of
from tools.frame.arguments import input_schema
from tools.frame.execute import execute
from tools.frame.operation import Call, Operation, Outcome, Tool
from tools.frame.parsing import named_field, parse
from tools.frame.threads import in_thread
from tools.records.receipts import after_write
from tools.runtime.health import HealthView, readiness, stats
from tools.runtime.version import VERSION
from tools.text.plain import one_line

_RECALL = """\
Before anything else, read what the team knows: call the tool `context` with the goal below, then `search` for what is \
still unclear. Say in a few lines what bears on the goal (decisions in force, rules, pitfalls, open work), each with \
the id of its record, and what nobody has written down. Do not start the work yet.

Goal: {goal}"""
_WRAP_UP = """\
This session ends. Write down what a colleague will need: decisions with their reasons, what was tried and failed, \
pitfalls, procedures, open tasks. Leave out what the code or its history says anyway, and secrets. Call the tool \
`reflect` with these notes and `persist` true{project}, name in `cited_ids` the records that helped, and update tasks \
with `manage`. Then say what was kept, who can read it, and what was known already."""
PROMPTS = (
    types.Prompt(
        name="recall",
        title="Recall",
        description="Read what the team knows before you start.",
        arguments=[types.PromptArgument(name="goal", description="Task that you are about to begin.", required=True)],
    ),
    types.Prompt(
        name="wrap_up",
        title="Wrap up",
        description="Keep what this session learned.",
        arguments=[types.PromptArgument(name="project", description="The project it belongs to.", required=False)],
    ),
)


PRINCIPAL = "engrain.principal"
UNREADABLE = "engrain.unreadable"

INSTRUCTIONS = """\
Engrain is your team's shared memory. It keeps what people and agents learned, decided and tried.
Before you start a task, call `context` with what you are about to do. For a question call `search` in plain words; \
`expand_neighbors` and `fetch_slice` show what stands around a hit.
When you learn something that a colleague will need (a decision and its reason, a pitfall, a procedure), keep it \
with `add`, in the words that you would want to read. Keep facts and their sources, never secrets.
At the end of a session give your notes to `reflect`; with `persist` it keeps what is worth it.
What should be kept word for word goes to `remember`: for the people of the `project` that you name, else for you alone.
For a report, briefing or handbook call `synthesis_draft`: every line cites records, and gaps are named.
When you take up a task, get stuck on it or finish it, say so with `manage`.
Cite what you used by id. When a record is wrong or outdated, add the new one with `related_to: ["supersedes:<id>"]`.
An error says what to change: correct the named argument and call again."""

RESOURCES = [
    types.Resource(uri=f"engrain://{name}", name=name, title=title, description=said, mime_type="text/plain")
    for name, title, said in (
        ("health", "Health", "Whether the memory and its indexes are up to date, as JSON."),
        ("stats", "Statistics", "How many records of each type you can read, as JSON."),
    )
]

CORE = "core"

LASTING = CacheHint(ttl_ms=300_000)
"""Lists change with the server's version only."""
LISTS: tuple[CacheableMethod, ...] = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")

log = structlog.get_logger()

Context = ServerRequestContext[Any, Any]
Caller = Callable[[Context], Principal | None]
T = TypeVar("T")


def caller_of_request(context: Context) -> Principal | None:
    """Return the caller of the message's HTTP request.

    Never from a context variable: those survive into the next request of a connection.
    """
    principal = _scope(context).get(PRINCIPAL)
    return principal if isinstance(principal, Principal) else None


def build_mcp_server(app: App, operations: Iterable[Operation], *, caller: Caller = caller_of_request) -> Server[Any]:
    tools = Toolbox(app, operations, caller)
    return Server(
        "engrain",
        version=VERSION,
        title="Engrain",
        description="A memory that software teams and their coding agents share.",
        instructions=INSTRUCTIONS,
        cache_hints=dict.fromkeys(LISTS, LASTING),
        get_tool_input_schema=tools.input_schema,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=_always(types.ListResourcesResult(resources=RESOURCES)),
        on_list_resource_templates=_always(types.ListResourceTemplatesResult(resource_templates=[])),
        on_read_resource=tools.read_resource,
        on_list_prompts=_always(types.ListPromptsResult(prompts=list(PROMPTS))),
        on_get_prompt=_get_prompt,
    )


class Toolbox:
    def __init__(self, app: App, operations: Iterable[Operation], caller: Caller) -> None:
        self.app = app
        self.caller = caller
        self.operations: dict[str, Operation] = {}
        self.tools: dict[str, types.Tool] = {}
        for operation in operations:
            if operation.tool is None:
                continue
            self.operations[operation.name] = operation
            self.tools[operation.name] = describe(operation, operation.tool)

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self.tools.get(name)
        return tool.input_schema if tool else None

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """List the core and the toolsets that the address asks for, of what the caller's role may call."""
        principal = self.caller(context)
        wanted = _toolsets(context)
        shown = [
            self.tools[name]
            for name, operation in self.operations.items()
            if (tool := operation.tool) is not None
            and (tool.toolset == CORE or not wanted.isdisjoint((tool.toolset, "all")))
            and (principal is None or operation.roles is None or principal.role in operation.roles)
        ]
        return types.ListToolsResult(tools=shown)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run a tool; an `EngrainError` becomes an error result."""
        operation = self.operations.get(params.name)
        if operation is None or operation.tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {one_line(params.name)}")
        request_id = str(_scope(context).get(REQUEST_ID, ""))
        try:
            outcome = await self._run(context, operation, params.arguments or {})
            told = await self._after(context, outcome)
        except EngrainError as error:
            return _refused(error, request_id)
        except Exception:
            log.exception("internal_error", logger="mcp", tool=params.name, request_id=request_id)
            return _refused(EngrainError("Something went wrong on our side."), request_id)
        return _answered(operation, operation.tool, outcome, told)

    async def _run(self, context: Context, operation: Operation, arguments: Mapping[str, Any]) -> Outcome:
        principal, scope = self.caller(context), _scope(context)
        if principal is None and operation.roles is not None:
            raise AuthenticationRequired("Authentication is required.")
        if (unreadable := scope.get(UNREADABLE)) is not None:
            raise unreadable
        defaults = operation.tool.defaults if operation.tool else {}
        left_out = {name: value for name, value in defaults.items() if arguments.get(name) in (None, "")}
        request = parse(operation.request, {**arguments, **left_out}, where="arguments", tool=operation.tool)
        key = getattr(request, "idempotency_key", None) or header_of(scope, b"idempotency-key")
        return await execute(
            self.app, operation, Call(principal, origin=origin_of(scope)), request, idempotency_key=key
        )

    async def _after(self, context: Context, outcome: Outcome) -> JsonObject:
        caller = self.caller(context)
        told = {} if caller is None else await after_write(self.app, caller, outcome.result)
        return told | ({"warnings": [*outcome.warnings]} if outcome.warnings else {})

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri not in [str(each.uri) for each in RESOURCES]:
            raise MCPError(types.INVALID_PARAMS, f"Unknown resource: {uri}")
        try:
            if uri == "engrain://health":
                told = HealthView().model_dump() | (await in_thread(readiness, self.app)).model_dump()
            else:
                principal = Call(self.caller(context)).caller
                told = await in_thread(stats, self.app, principal.organization_id, principal.visible)
        except EngrainError as error:
            raise MCPError(types.INVALID_REQUEST, f"{error.message} {error.remediation}") from None
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=to_json(told).decode())
        return types.ReadResourceResult(contents=[contents])


def _always(answer: T) -> Callable[[Context, types.PaginatedRequestParams | None], Awaitable[T]]:
    async def answered(_context: Context, _params: types.PaginatedRequestParams | None) -> T:
        return answer

    return answered


async def _get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    arguments = {name: value.strip() for name, value in (params.arguments or {}).items()}
    if params.name == "recall":
        if not (goal := arguments.get("goal", "")):
            raise MCPError(types.INVALID_PARAMS, "recall needs the argument goal: the task that you begin.")
        text = _RECALL.format(goal=goal)
    elif params.name == "wrap_up":
        project = arguments.get("project", "")
        text = _WRAP_UP.format(project=f" and `project` {project}" if project else "")
    else:
        known = ", ".join(each.name for each in PROMPTS)
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}. There are {known}.")
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


def describe(operation: Operation, tool: Tool) -> types.Tool:
    return types.Tool(
        name=operation.name,
        title=tool.title,
        description=operation.description,
        input_schema=input_schema(operation.request, tool),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only,
            # The others mean something for writes only.
            destructive_hint=None if tool.read_only else tool.destructive,
            idempotent_hint=True if tool.idempotent and not tool.read_only else None,
            open_world_hint=False,
        ),
    )


def _answered(operation: Operation, tool: Tool, outcome: Outcome, told: JsonObject) -> types.CallToolResult:
    result = outcome.result
    if outcome.stored:
        result = operation.result.model_validate_json(outcome.stored)
    chosen = tool.answer(result) if tool.answer else result
    answer = answer_of(chosen, tool.omit_result) if chosen is not None else {}
    answer |= {name: value for name, value in told.items() if name not in answer}
    content = [types.TextContent(type="text", text=text_of(answer))]
    has_failed = getattr(result, "success", True) is False
    return types.CallToolResult(content=content, structured_content=answer, is_error=has_failed)


def _refused(error: EngrainError, request_id: str) -> types.CallToolResult:
    field = named_field(error)
    argument = f" (argument {field})" if field is not None and field not in error.message else ""
    text = f"{error.code}: {error.message}{argument} {error.remediation}"
    if error.code == "internal_error":
        text += f" (request {request_id})"
    # Arguments that it names may hold line breaks.
    return types.CallToolResult(content=[types.TextContent(type="text", text=one_line(text))], is_error=True)


def _toolsets(context: Context) -> frozenset[str]:
    query = parse_qs(_scope(context).get("query_string", b"").decode("ascii", "replace"))
    return frozenset(name.strip() for each in query.get("toolsets", ()) for name in each.split(","))


def _scope(context: Context) -> Mapping[str, Any]:
    return getattr(context.request, "scope", None) or {}
