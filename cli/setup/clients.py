"""Table of the clients: their files, and the block that each reads."""

import json
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cli.setup.formats import Change, Format

PLUGIN = Path(__file__).parent / "plugin"
SERVER = "engrain"
Command = Sequence[str]
_QUESTION = 'ask its agent: "What does Engrain know about this project?"'


def _stdio(command: Command) -> dict[str, Any]:
    return {"command": command[0], "args": list(command[1:])}


def _typed(command: Command) -> dict[str, Any]:
    return {"type": "stdio", **_stdio(command)}


def _continue(command: Command) -> str:
    start = f"command: {json.dumps(command[0])}\n    args: {json.dumps(list(command[1:]))}"
    return f"name: Engrain\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: {SERVER}\n    type: stdio\n    {start}\n"


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    title: str
    folder: str
    """It exists where the client was used."""
    files: tuple[str, ...]
    """Places of the user's configuration; the first that exists counts, else the first."""
    program: str = ""
    hint: str = f"Restart it, and {_QUESTION}"
    steps: tuple[str, ...] = ("mcpServers",)
    form: Format = "json"
    block: Callable[[Command], Any] = _stdio


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code", "Claude Code", "{claude}", ("{claude_json}/.claude.json",), "claude",
            f"`claude mcp list` shows it. Start `claude`, and {_QUESTION}", block=_typed,
        ),
        Client(
            "codex", "Codex", "{codex}", ("{codex}/config.toml",), "codex",
            f"`codex mcp list` shows it. Start `codex`, and {_QUESTION}", ("mcp_servers",), "toml",
        ),
        Client("cursor", "Cursor", "{home}/.cursor", ("{home}/.cursor/mcp.json",), "cursor", block=_typed),
        Client("vscode", "VS Code", "{code}", ("{code}/mcp.json",), "code", steps=("servers",), block=_typed),
        Client(
            "gemini", "Gemini CLI", "{home}/.gemini", ("{home}/.gemini/settings.json",), "gemini",
            f"`gemini mcp list` shows it, in a folder that you trust. Start `gemini`, and {_QUESTION}",
        ),
        Client(
            "opencode", "opencode", "{config}/opencode",
            ("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"), "opencode",
            f"`opencode mcp list` shows it. Start `opencode`, and {_QUESTION}", ("mcp",),
            block=lambda command: {"type": "local", "command": list(command), "enabled": True},
        ),
        Client(
            "qwen", "Qwen Code", "{home}/.qwen", ("{home}/.qwen/settings.json",), "qwen",
            f"`qwen mcp list` shows it. Start `qwen`, and {_QUESTION}",
        ),
        Client(
            "copilot", "Copilot CLI", "{copilot}", ("{copilot}/mcp-config.json",), "copilot",
            f"Start `copilot`; /mcp shows it. Then {_QUESTION}",
            block=lambda command: {"type": "local", **_stdio(command), "tools": ["*"]},
        ),
        Client("windsurf", "Windsurf", "{home}/.codeium/windsurf", ("{home}/.codeium/windsurf/mcp_config.json",)),
        Client(
            "continue", "Continue", "{home}/.continue", ("{home}/.continue/mcpServers/engrain.yaml",), "cn",
            steps=(), form="text", block=_continue,
        ),
        Client("zed", "Zed", "{zed}", ("{zed}/settings.json",), "zed", steps=("context_servers",)),
        Client(
            "cline", "Cline", "{cline}",
            ("{cline}/settings/cline_mcp_settings.json", "{home}/.cline/data/settings/cline_mcp_settings.json"), "cline",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """Places of this user and machine, and the command that starts Engrain."""

    environ: Mapping[str, str]
    command: Command

    @cached_property
    def places(self) -> dict[str, str]:
        home, given = str(Path.home()), self.environ.get
        config = given("XDG_CONFIG_HOME") or f"{home}/.config"
        is_mac = platform.system() == "Darwin"
        code = f"{home}/Library/Application Support/Code/User" if is_mac else f"{config}/Code/User"
        return {
            "home": home,
            "config": config,
            "code": code,
            "cline": f"{code}/globalStorage/saoudrizwan.claude-dev",
            "zed": f"{home}/.config/zed" if is_mac else f"{config}/zed",
            "claude": given("CLAUDE_CONFIG_DIR") or f"{home}/.claude",
            "claude_json": given("CLAUDE_CONFIG_DIR") or home,
            "codex": given("CODEX_HOME") or f"{home}/.codex",
            "copilot": given("COPILOT_HOME") or f"{home}/.copilot",
        }

    def path(self, place: str) -> Path:
        return Path(place.format_map(self.places))

    def has(self, client: Client) -> bool:
        return bool(client.program and shutil.which(client.program)) or any(
            self.path(place).exists() for place in (client.folder, *client.files)
        )

    def wanted(self, client: Client) -> Iterator[tuple[Path, Format, list[Change]]]:
        """Yield the files of a client with their changes."""
        paths = [self.path(place) for place in client.files]
        path = next((path for path in paths if path.exists()), paths[0])
        steps = (*client.steps, SERVER) if client.steps else ()
        yield path, client.form, [Change(steps, client.block([*self.command, "mcp"]))]
        if client.name == "claude-code":
            yield self.path("{claude}/settings.json"), "json", list(self._hooks())
            skill = (PLUGIN / "skills/engrain/SKILL.md").read_text(encoding="utf-8")
            yield self.path("{claude}/skills/engrain/SKILL.md"), "text", [Change((), skill)]

    def _hooks(self) -> Iterator[Change]:
        shipped = (PLUGIN / "hooks/hooks.json").read_text(encoding="utf-8")
        start = json.dumps(shlex.join(self.command))[1:-1]
        for event, groups in json.loads(shipped.replace('"engrain hook', f'"{start} hook'))["hooks"].items():
            for group in groups:
                yield Change(("hooks", event), group, is_item=True)


def own_command() -> Command:
    """Return the command that starts this program again, with absolute paths."""
    program = Path(sys.argv[0])
    # What `uvx` runs lies in a cache that may be cleaned.
    if "archive-v0" in Path(sys.prefix).parts and (uvx := shutil.which("uvx")):
        return [uvx, SERVER]
    if program.name == SERVER and program.is_file():
        return [str(program.absolute())]
    found = shutil.which(SERVER)
    return [found] if found else [sys.executable, "-P", "-c", "from cli.main import app; app()"]
