"""The MCP server: one tool per operation with a `Tool`, and two resources."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import mcp_types as types
import structlog
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json

from auth.origin import client_of, user_agent_of
from auth.principal import Principal
from stores.errors import AuthenticationRequired, EngrainError
from tools.app import App
from tools.frame.execute import execute
from tools.frame.operation import Call, Operation, Outcome, Tool
from tools.frame.parsing import named_field, parse
from tools.frame.tool_schemas import input_schema, output_schema
from tools.runtime.health import health, readiness, stats
from tools.runtime.threads import in_thread
from tools.runtime.version import VERSION

PRINCIPAL = "engrain.principal"
REQUEST_ID = "engrain.request_id"
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

RESOURCES = (
    types.Resource(
        uri="engrain://health",
        name="health",
        title="Health",
        description="Whether the memory and its indexes are up to date, as JSON.",
        mime_type="text/plain",
    ),
    types.Resource(
        uri="engrain://stats",
        name="stats",
        title="Statistics",
        description="How many records of each type you can read, as JSON.",
        mime_type="text/plain",
    ),
)

LASTING = CacheHint(ttl_ms=300_000)
"""Lists change with the server's version only."""

log = structlog.get_logger()

Context = ServerRequestContext[Any, Any]
Caller = Callable[[Context], Principal | None]


def caller_of_request(context: Context) -> Principal | None:
    """Return the caller of the message's HTTP request.

    Never from a context variable: those survive into the next request of a connection.
    """
    principal = _scope(context).get(PRINCIPAL)
    return principal if isinstance(principal, Principal) else None


def build_mcp_server(app: App, operations: Iterable[Operation], *, caller: Caller = caller_of_request) -> Server[Any]:
    """Make the MCP server.

    Raises:
        ValueError: A tool has an argument without a description, or two tools share a name.
    """
    tools = Toolbox(app, operations, caller)
    return Server(
        "engrain",
        version=VERSION,
        title="Engrain",
        description="A memory that software teams and their coding agents share.",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": LASTING, "resources/list": LASTING, "resources/templates/list": LASTING},
        get_tool_input_schema=tools.input_schema,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=tools.list_resources,
        on_list_resource_templates=tools.list_resource_templates,
        on_read_resource=tools.read_resource,
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
            if operation.name in self.operations:
                raise ValueError(f"two tools are called {operation.name}")
            self.operations[operation.name] = operation
            self.tools[operation.name] = describe(operation, operation.tool)
        self.listed = [
            self.tools[name] for name, operation in self.operations.items() if operation.tool and operation.tool.listed
        ]
        self.resources: Mapping[str, Callable[[Context], Awaitable[Any]]] = {
            "engrain://health": self._health,
            "engrain://stats": self._stats,
        }

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self.tools.get(name)
        return tool.input_schema if tool else None

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self.listed)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run a tool; an `EngrainError` becomes an error result."""
        operation = self.operations.get(params.name)
        if operation is None or operation.tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        request_id = str(_scope(context).get(REQUEST_ID, ""))
        try:
            outcome = await self._run(context, operation, params.arguments or {}, request_id)
        except EngrainError as error:
            return _refused(error, request_id)
        except Exception:
            log.exception("internal_error", logger="mcp", tool=params.name, request_id=request_id)
            return _refused(EngrainError("Something went wrong on our side."), request_id)
        return _answered(operation.tool, outcome)

    async def _run(
        self, context: Context, operation: Operation, arguments: Mapping[str, Any], request_id: str
    ) -> Outcome:
        principal, scope = self.caller(context), _scope(context)
        if principal is None and operation.roles is not None:
            raise AuthenticationRequired("Authentication is required.")
        if (unreadable := scope.get(UNREADABLE)) is not None:
            raise unreadable
        defaults = operation.tool.defaults if operation.tool else {}
        left_out = {name: value for name, value in defaults.items() if arguments.get(name) in (None, "")}
        request = parse(operation.request, {**arguments, **left_out}, where="arguments", tool=operation.tool)
        key = getattr(request, "idempotency_key", None)
        call = Call(principal, request_id=request_id, client=client_of(scope), user_agent=user_agent_of(scope))
        return await execute(self.app, operation, call, request, idempotency_key=key)

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=list(RESOURCES))

    async def list_resource_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List no templates; some clients take a refusal for a fault."""
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        read = self.resources.get(uri)
        if read is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown resource: {uri}")
        try:
            text = to_json(await read(context)).decode()
        except EngrainError as error:
            raise MCPError(types.INVALID_REQUEST, f"{error.message} {error.remediation}") from None
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _health(self, context: Context) -> Any:
        return {**health(), **await in_thread(readiness, self.app)}

    async def _stats(self, context: Context) -> Any:
        principal = self.caller(context)
        if principal is None:
            raise AuthenticationRequired("Authentication is required.")
        return await in_thread(stats, self.app, principal.organization_id, principal.visible)


RECEIPTS = frozenset({"mutation_receipt", "background_jobs"})
"""Result fields for programs only: left out of output schemas."""


def describe(operation: Operation, tool: Tool) -> types.Tool:
    return types.Tool(
        name=operation.name,
        title=tool.title,
        description=operation.description,
        input_schema=input_schema(operation.request, tool.omit, tool.omit_values, tool.defaults),
        output_schema=output_schema(operation.result, tool.omit_result | RECEIPTS),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or tool.read_only,
            open_world_hint=False,
        ),
    )


def _answered(tool: Tool, outcome: Outcome) -> types.CallToolResult:
    body = outcome.body()
    rendered = tool.render(outcome.result) if tool.render and outcome.result is not None else None
    text = rendered if rendered is not None else to_json(body).decode()
    content = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=body, is_error=body.get("success") is False)


def _refused(error: EngrainError, request_id: str) -> types.CallToolResult:
    field = named_field(error)
    argument = f" (argument {field})" if field is not None and field not in error.message else ""
    text = f"{error.code}: {error.message}{argument} {error.remediation}"
    if error.code == "internal_error":
        text += f" (request {request_id})"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def _scope(context: Context) -> Mapping[str, Any]:
    return getattr(context.request, "scope", None) or {}
