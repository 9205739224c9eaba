"""The MCP prompts, which clients offer as slash commands."""

import mcp_types as types
from mcp.shared.exceptions import MCPError

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
        arguments=[types.PromptArgument(name="goal", description="What you are about to do.", required=True)],
    ),
    types.Prompt(
        name="wrap_up",
        title="Wrap up",
        description="Keep what this session learned.",
        arguments=[types.PromptArgument(name="project", description="The project it belongs to.", required=False)],
    ),
)


def prompt_named(name: str, arguments: dict[str, str]) -> types.GetPromptResult:
    """Fill in a prompt.

    Raises:
        MCPError: There is no such prompt, or its goal is missing.
    """
    if name == "recall":
        goal = arguments.get("goal", "").strip()
        if not goal:
            raise MCPError(types.INVALID_PARAMS, "recall needs the argument goal: what you are about to do.")
        text = _RECALL.format(goal=goal)
    elif name == "wrap_up":
        project = arguments.get("project", "").strip()
        text = _WRAP_UP.format(project=f" and `project` {project}" if project else "")
    else:
        known = ", ".join(each.name for each in PROMPTS)
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name}. There are {known}.")
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))]
    )
