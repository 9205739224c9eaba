"""Clients of `clients.toml`, with the files of this user and the command that starts Engrain."""

import json
import platform
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from types import SimpleNamespace
from typing import Any

from cli.setup.formats import Change, Format

HERE = Path(__file__).parent
SERVER = "engrain"


Client = SimpleNamespace
"""A row of `clients.toml`."""
_DEFAULTS = {"at": "mcpServers", "form": "json", "check": ""}
_TABLE = tomllib.loads((HERE / "clients.toml").read_text())
_PLACES = _TABLE.pop("places")
CLIENTS = {name: Client(**_DEFAULTS | row) for name, row in _TABLE.items()}


def path_of(environ: Mapping[str, str], place: str) -> Path:
    """Return the path of a place such as `{codex}/config.toml`."""
    found = {"home": str(Path.home())}
    for name, (variable, *defaults) in _PLACES.items():
        default = defaults[-1 if platform.system() == "Darwin" else 0]
        found[name] = environ.get(variable) or default.format_map(found)
    return Path(place.format_map(found))


def is_there(environ: Mapping[str, str], client: Client) -> bool:
    """Return whether a client is installed or was used."""
    places = (client.folder, *client.files)
    return bool(shutil.which(client.program)) or any(path_of(environ, place).exists() for place in places)


def wanted(environ: Mapping[str, str], name: str) -> Iterator[tuple[Path, Format, Sequence[Change]]]:
    """Yield the files of a client with the changes to make."""
    client, words = CLIENTS[name], [*(start := own_command()), "mcp"]
    paths = [path_of(environ, place) for place in client.files]
    filled: dict[str, Any] = {"$program": words[0], "$args": words[1:], "$command": words}
    if client.form == "text":
        block: Any = Template(client.block).substitute({key[1:]: json.dumps(each) for key, each in filled.items()})
    else:
        block = {key: filled[each] if str(each) in filled else each for key, each in client.block.items()}
    yield next(filter(Path.exists, paths), paths[0]), client.form, [Change((client.at, SERVER), block)]
    if name == "claude-code":
        shipped = (HERE / "plugin/hooks/hooks.json").read_text()
        hooks = json.loads(shipped.replace(f'"{SERVER} hook', json.dumps(f"{shlex.join(start)} hook")[:-1]))["hooks"]
        groups = [Change(("hooks", event), group, is_item=True) for event in hooks for group in hooks[event]]
        yield path_of(environ, "{claude}/settings.json"), "json", groups
        skill = (HERE / "plugin/skills/engrain/SKILL.md").read_text(encoding="utf-8")
        yield path_of(environ, "{claude}/skills/engrain/SKILL.md"), "text", [Change((), skill)]


def own_command() -> Sequence[str]:
    """Return the command that starts this program again, with absolute paths."""
    # `uvx` runs it from a cache, which is cleaned now and then.
    if "archive-v0" in Path(sys.prefix).parts and (uvx := shutil.which("uvx")):
        return [uvx, SERVER]
    program = Path(sys.argv[0])
    found = str(program.absolute()) if program.name == SERVER and program.is_file() else shutil.which(SERVER)
    return [found] if found else [sys.executable, "-P", "-c", "from cli.main import app; app()"]
