"""The reference of MCP tools."""

from cli.reference.markdown import code, fields_table, result_table, spoken
from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation, Tool
from tools.frame.tool_schemas import input_schema, output_schema
from tools.mcp_server import RESOURCES

INTRO = """\
# MCP tools

Every tool is served at `/mcp` (streamable HTTP). Unknown arguments are refused and the nearest known one is named. A
tool's answer is a text for the model and the same as structured content; a refusal is a result with `isError` and a
text that says what to change. How to connect an agent: [Connecting agents](../guide/mcp.md)."""


def page() -> str:
    offered = [(operation, operation.tool) for operation in OPERATIONS if operation.tool is not None]
    listed = [_section(operation, tool) for operation, tool in offered if tool.listed]
    unlisted = [_section(operation, tool) for operation, tool in offered if not tool.listed]
    parts = [INTRO, *listed]
    if unlisted:
        parts += ["## Tools that are not listed", "They can be called and are not in `tools/list`.", *unlisted]
    parts += ["## Resources", *[f"- {code(each.uri)}: {each.description}" for each in RESOURCES]]
    return "\n\n".join(parts) + "\n"


def _section(operation: Operation, tool: Tool) -> str:
    arguments = input_schema(operation.request, tool.omit, tool.omit_values)
    answer = output_schema(operation.result, tool.omit_result)
    parts = [f"## {operation.name}", f"*{tool.title}.* {operation.description}", _facts(operation, tool)]
    if arguments["properties"]:
        parts += [fields_table(arguments)]
    if answer.get("properties"):
        parts += ["Answer:", result_table(answer)]
    return "\n\n".join(parts)


def _facts(operation: Operation, tool: Tool) -> str:
    nature = "reads only" if tool.read_only else "deletes" if tool.destructive else "writes"
    roles = sorted(operation.roles or (), key=("owner", "admin", "member", "viewer").index)
    who = spoken([role.capitalize() for role in roles]) or "anybody"
    return f"It {nature}; may be called by {who}; needs the scope {code(f'api:{operation.scope}')}."
