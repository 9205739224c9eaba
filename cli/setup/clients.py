"""Clients of `clients.toml`, with the files of this user and the command that starts Engrain."""

import json
import platform
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Template
from typing import Any

from cli.setup.formats import Change, Format

HERE = Path(__file__).parent
SERVER = "engrain"


@dataclass(frozen=True, slots=True)
class Client:
    title: str
    program: str
    folder: str
    files: Sequence[str]
    block: Any
    at: str = "mcpServers"
    form: Format = "json"
    check: str = ""


_TABLE = tomllib.loads((HERE / "clients.toml").read_text())
_PLACES = _TABLE.pop("places")
CLIENTS = {name: Client(**row) for name, row in _TABLE.items()}


@dataclass(frozen=True)
class Machine:
    environ: Mapping[str, str]
    command: Sequence[str]

    @cached_property
    def places(self) -> Mapping[str, str]:
        found = {"home": str(Path.home())}
        for name, (variable, *defaults) in _PLACES.items():
            default = defaults[-1 if platform.system() == "Darwin" else 0]
            found[name] = self.environ.get(variable) or default.format_map(found)
        return found

    def path(self, place: str) -> Path:
        return Path(place.format_map(self.places))

    def has(self, client: Client) -> bool:
        return bool(shutil.which(client.program)) or any(
            map(Path.exists, map(self.path, (client.folder, *client.files)))
        )

    def wanted(self, name: str) -> Iterator[tuple[Path, Format, Sequence[Change]]]:
        """Yield the files of a client with the changes to make."""
        client, words = CLIENTS[name], [*self.command, "mcp"]
        paths = [self.path(place) for place in client.files]
        path = next((path for path in paths if path.exists()), paths[0])
        filled: dict[str, Any] = {"$program": words[0], "$args": words[1:], "$command": words}
        if client.form == "text":
            block: Any = Template(client.block).substitute(
                {key[1:]: json.dumps(value) for key, value in filled.items()}
            )
        else:
            block = {key: filled[each] if str(each) in filled else each for key, each in client.block.items()}
        yield path, client.form, [Change((client.at, SERVER), block)]
        if name == "claude-code":
            yield self.path("{claude}/settings.json"), "json", list(self._hooks())
            skill = (HERE / "plugin/skills/engrain/SKILL.md").read_text(encoding="utf-8")
            yield self.path("{claude}/skills/engrain/SKILL.md"), "text", [Change((), skill)]

    def _hooks(self) -> Iterator[Change]:
        start = json.dumps(f"{shlex.join(self.command)} hook")[:-1]
        shipped = (HERE / "plugin/hooks/hooks.json").read_text().replace(f'"{SERVER} hook', start)
        for event, groups in json.loads(shipped)["hooks"].items():
            yield from (Change(("hooks", event), group, is_item=True) for group in groups)


def own_command() -> Sequence[str]:
    """Return the command that starts this program again, with absolute paths."""
    # `uvx` runs it from a cache, which is cleaned now and then.
    if "archive-v0" in Path(sys.prefix).parts and (uvx := shutil.which("uvx")):
        return [uvx, SERVER]
    program = Path(sys.argv[0])
    found = str(program.absolute()) if program.name == SERVER and program.is_file() else shutil.which(SERVER)
    return [found] if found else [sys.executable, "-P", "-c", "from cli.main import app; app()"]
