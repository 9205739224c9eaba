"""`engrain setup`: the clients of `clients.toml`; list those of this machine, set up some, or undo that."""

import difflib
import json
import os
import platform
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import Template
from types import SimpleNamespace as Client
from typing import Annotated, Any

import typer

from cli.client.failure import CommandFailed, ExitCode, guarded, shown
from cli.client.server import server_address
from cli.local.server import data_folder
from cli.setup.files import Change, FilePlan, Format, State

HERE = Path(__file__).parent
SERVER = "engrain"
_DEFAULTS = {"at": "mcpServers", "form": "json", "check": "", "env": False, "hooks": ""}
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
        block |= _server_named(environ, name) if client.env else {}
    yield next(filter(Path.exists, paths), paths[0]), client.form, [Change((client.at, SERVER), block)]
    if client.hooks:
        shipped = (HERE / "plugin/hooks/hooks.json").read_text()
        hooks = json.loads(shipped.replace(f'"{SERVER} hook', json.dumps(f"{shlex.join(start)} hook")[:-1]))["hooks"]
        groups = [Change(("hooks", event), group, is_item=True) for event in client.events for group in hooks[event]]
        yield path_of(environ, client.hooks), "json", groups
        skill = (HERE / "plugin/skills/engrain/SKILL.md").read_text(encoding="utf-8")
        yield path_of(environ, client.skill), "text", [Change((), skill)]


def _server_named(environ: Mapping[str, str], name: str) -> Mapping[str, Any]:
    env = {"ENGRAIN_DATA_DIR": str(data_folder(environ))} if environ.get("ENGRAIN_DATA_DIR") else {}
    env |= {"ENGRAIN_URL": server_address(url)} if (url := environ.get("ENGRAIN_URL")) else {}
    forwarded = ["ENGRAIN_TOKEN"] if name == "codex" and environ.get("ENGRAIN_TOKEN") else []  # not its value
    return {key: value for key, value in (("env", env), ("env_vars", forwarded)) if value}


def own_command() -> Sequence[str]:
    """Return the command that starts this program again, with absolute paths."""
    # `uvx` runs it from a cache, which is cleaned now and then.
    if "archive-v0" in Path(sys.prefix).parts and (uvx := shutil.which("uvx")):
        return [uvx, SERVER]
    program = Path(sys.argv[0])
    found = str(program.absolute()) if program.name == SERVER and program.is_file() else shutil.which(SERVER)
    return [found] if found else [sys.executable, "-P", "-c", "from cli.entry import main; main()"]


WIDTH = 200
SET_UP = "set up"


def setup(
    clients: Annotated[list[str] | None, typer.Argument(help="Agents to connect; lists them by default.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Undo what setup did: of these clients, or of all.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before writing.")] = False,
) -> int:
    """Without a name nothing changes: it lists the clients of this machine.

    Exit code 1 where a file is left as it is.
    """
    state = State()
    act = partial(_remove, state) if remove else partial(_add, os.environ, state)
    if unknown := [name for name in clients or () if name not in CLIENTS]:
        known = ", ".join(CLIENTS)
        raise CommandFailed(f"There is no client {unknown[0]!r}.", f"There are {known}.", code=ExitCode.USAGE)
    # Later ones are in folders of earlier ones.
    chosen = clients or (list(reversed(state.read())) if remove else [])
    if not chosen:
        typer.echo("Nothing is set up." if remove else _list(os.environ, state))
    return max((guarded(partial(act, name, is_sure=yes)) for name in dict.fromkeys(chosen)), default=0)


def setups(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the status of each client that was set up: `SET_UP`, or a sentence on its changed or damaged files."""
    state = State()
    return {name: _status(environ, state, name) for name in state.read() if name in CLIENTS}


def _list(environ: Mapping[str, str], state: State) -> str:
    found = {name: _status(environ, state, name) for name in CLIENTS}
    lines = [f"{name:12} {CLIENTS[name].title:12} {status}" for name, status in found.items()]
    ready = [name for name, status in found.items() if status == "not set up"]
    return "\n".join(lines + ([f"To set up: engrain setup {' '.join(ready)}"] if ready else []))


def _status(environ: Mapping[str, str], state: State, name: str) -> str:
    is_ours = name in state.read()
    if not is_ours and not is_there(environ, CLIENTS[name]):
        return "not found"
    try:
        if not any(plan.is_change for plan in _additions(environ, state, name)):
            return SET_UP
    except CommandFailed as failure:
        return shown(failure.message)
    return f"set up, changed since; engrain setup {name} renews it" if is_ours else "not set up"


def _additions(environ: Mapping[str, str], state: State, name: str) -> list[FilePlan]:
    plans = [state.addition(name, *each) for each in wanted(environ, name)]
    places = {str(plan.path) for plan in plans}
    return plans + [state.removal(each) for each in state.read().get(name, []) if each.path not in places]


def _add(environ: Mapping[str, str], state: State, name: str, *, is_sure: bool) -> None:
    client = CLIENTS[name]
    changed = _settle(state, name, partial(_additions, environ, state, name), is_sure=is_sure)
    backups = [plan.record.backup for plan in changed if plan.record and plan.record.backup]
    hint = f"`{client.check}` shows it. Start `{client.program}`" if client.check else "Restart it"
    done = f"set up. Backup: {', '.join(backups)}" if backups else "set up." if changed else "set up already."
    typer.echo(f'{client.title} is {done}\n{hint}, and ask: "What does Engrain know about this project?"')


def _remove(state: State, name: str, *, is_sure: bool) -> None:
    title, records = CLIENTS[name].title if name in CLIENTS else name, state.read().get(name, [])
    if not records:
        typer.echo(f"{title} was not set up by `engrain setup`; nothing to remove.")
        return
    changed = _settle(state, name, lambda: [state.removal(each) for each in records], is_sure=is_sure)
    typer.echo(f"Engrain is removed from {title}.")
    for path in {Path(each.path) for each in records if each.form == "text"} - {plan.path for plan in changed}:
        if path.exists():
            typer.echo(f"Changed since, and left as it is: {path}")


def _settle(state: State, name: str, planned: Callable[[], list[FilePlan]], *, is_sure: bool) -> list[FilePlan]:
    every = planned()
    plans = [plan for plan in every if plan.is_change]
    for plan in plans:
        for line in _difference(plan):
            typer.echo(line)
    if plans and not is_sure:
        typer.echo("Write this? [y/N] ", nl=False)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise CommandFailed("Nothing was changed.", "With --yes it does not ask.")
    if plans or not all(plan.record for plan in every):
        with state.locked():
            current = planned()
            if not is_sure and [plan for plan in current if plan.is_change] != plans:
                raise CommandFailed("A file changed meanwhile; nothing was written.", "Repeat the command.")
            state.carry_out(name, current)
    return plans


def _difference(plan: FilePlan) -> Iterator[str]:
    old, new = ((text or "").splitlines() for text in (plan.before, plan.after))
    was, is_now = ("/dev/null" if text is None else str(plan.path) for text in (plan.before, plan.after))
    for line in difflib.unified_diff(old, new, was, is_now, lineterm=""):
        yield shown(line.replace("\t", "    "))[:WIDTH]
