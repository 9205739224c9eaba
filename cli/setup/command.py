"""`engrain setup`: clients of this machine, the block of each, and its removal."""

import difflib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

import typer

from cli.client.failure import CommandFailed, ExitCode, guarded, shown
from cli.setup.clients import CLIENTS, Client, Machine, own_command
from cli.setup.files import Plan, State

WIDTH = 200


def run_setup(environ: Mapping[str, str], names: Sequence[str], *, is_removal: bool, is_sure: bool) -> int:
    """List the clients; or set up or remove those named, after a question. Exit code 1 if one fails."""
    state, machine = State.of_user(), Machine(environ, own_command())

    def chosen() -> Sequence[str]:
        if unknown := [name for name in names if name not in CLIENTS]:
            raise CommandFailed(
                f"There is no client {unknown[0]!r}.", f"There are {', '.join(CLIENTS)}.", code=ExitCode.USAGE
            )
        if is_removal:
            return names or sorted(state.read())
        if not names:
            for line in _listed(machine, state):
                typer.echo(line)
        return names

    found: list[str] = []
    code = guarded(lambda: found.extend(chosen()))
    if is_removal and not found and not code:
        typer.echo("Nothing is set up.")
    for name in dict.fromkeys(found):
        act = partial(_remove, state, name) if is_removal else partial(_add, machine, state, CLIENTS[name])
        code = max(code, guarded(partial(act, is_sure=is_sure)))
    return code


def _listed(machine: Machine, state: State) -> Iterator[str]:
    ready = []
    for client in CLIENTS.values():
        is_there = machine.has(client)
        status = _status(machine, state, client) if is_there or client.name in state.read() else ""
        if status == "not set up":
            ready.append(client.name)
        yield f"{client.name:12} {client.title:12} {'found' if is_there else 'not found':10} {status}".rstrip()
    if ready:
        yield f"Set up: engrain setup {' '.join(ready)}"


def _status(machine: Machine, state: State, client: Client) -> str:
    try:
        plans = _additions(machine, state, client)
    except CommandFailed as failure:
        return shown(failure.message)
    is_complete = not any(plan.is_change for plan in plans)
    if client.name in state.read():
        return "set up" if is_complete else f"changed since; engrain setup {client.name} sets it up again"
    return "set up, but not by `engrain setup`" if is_complete else "not set up"


def _additions(machine: Machine, state: State, client: Client) -> list[Plan]:
    plans = [state.addition(client.name, path, form, changes) for path, form, changes in machine.wanted(client)]
    places = {str(plan.path) for plan in plans}
    return plans + [state.removal(each) for each in state.read().get(client.name, []) if each.path not in places]


def _add(machine: Machine, state: State, client: Client, *, is_sure: bool) -> None:
    plans = _settle(state, client.name, lambda: _additions(machine, state, client), is_sure=is_sure)
    changed = [plan for plan in plans if plan.is_change]
    if not changed:
        typer.echo(f"{client.title} is set up already.")
        return
    backups = [plan.record.backup for plan in changed if plan.record and plan.record.backup]
    kept = f" Kept as it was: {', '.join(backups)}." if backups else ""
    typer.echo(f"{client.title} is set up.{kept}\n{client.hint}")


def _remove(state: State, name: str, *, is_sure: bool) -> None:
    title, records = CLIENTS[name].title if name in CLIENTS else name, state.read().get(name, [])
    if not records:
        typer.echo(f"{title} was not set up by `engrain setup`; nothing to remove.")
        return
    plans = _settle(state, name, lambda: [state.removal(each) for each in records], is_sure=is_sure)
    typer.echo(f"Engrain is removed from {title}.")
    for plan, record in zip(plans, records, strict=True):
        if record.form == "text" and plan.after is not None and not plan.is_change:
            typer.echo(f"{record.path} stays, because somebody changed it. Remove it by hand.")


def _settle(state: State, name: str, planned: Callable[[], list[Plan]], *, is_sure: bool) -> list[Plan]:
    """Show the plans and ask, then carry out what still holds; return them."""
    plans = planned()
    for line in chain.from_iterable(map(_difference, plans)):
        typer.echo(line)
    is_change = any(plan.is_change for plan in plans)
    if is_change and not is_sure and not _agreed():
        raise CommandFailed("Nothing was changed.", "With --yes it does not ask.")
    if is_change or not all(plan.record for plan in plans):
        with state.locked():
            current = planned()
            if not is_sure and [plan.after for plan in current] != [plan.after for plan in plans]:
                raise CommandFailed("A file changed meanwhile. Nothing was written.", "Repeat the command.")
            state.carry_out(name, current)
    return plans


def _agreed() -> bool:
    typer.echo("Write this? [y/N] ", nl=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _difference(plan: Plan) -> Iterator[str]:
    old, new = ((text or "").splitlines() for text in (plan.before, plan.after))
    names = (str(plan.path) if text is not None else "/dev/null" for text in (plan.before, plan.after))
    for line in difflib.unified_diff(old, new, *names, lineterm=""):
        yield shown(line.replace("\t", "    "))[:WIDTH]
