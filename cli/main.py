"""The commands of `engrain`: each imports its module when it runs, or when its own help is asked for."""

import gc
from collections.abc import Callable, Mapping
from functools import partial, wraps
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from cli.client.failure import guarded
from cli.verbs.tables import GROUPS, VERB_COMMANDS

# Objects of modules and of requests are hardly ever in cycles, and looking for those takes long.
gc.set_threshold(20_000, 20, 100)
COMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("cli.serving:serve", "Serve REST, WebSocket and MCP from one data folder, until interrupted."),
    "worker": ("cli.worker:worker",
        "Run background jobs of a ledger on PostgreSQL (ENGRAIN_DATABASE_URL), until interrupted."),
    "login": ("cli.login:login",
        "Log in to a server, in a browser on this or any other device. What it gets is kept for this user alone."),
    "logout": ("cli.login:logout", "End the session on the server, and delete its stored login."),
    "whoami": ("cli.login:whoami",
        "Show the logged-in account, its organization and its server. Exit code 3 without a login."),
    "check": ("cli.maintenance:check",
        "Read every record, and prove that every index equals the ledger. The server must be stopped."),
    "reindex": ("cli.maintenance:reindex", "Rebuild indexes from the ledger. The server must be stopped."),
    "backup": ("cli.backup:backup",
        "Write a backup of the data folder into one file, also while a server uses it. Indexes stay out."),
    "restore": ("cli.backup:restore",
        "Restore a backup into an empty data folder, and verify the audit log. The next start rebuilds the indexes."),
    "doctor": ("cli.doctor:doctor",
        "Check folder, lock, port, disk, versions, model, indexes and clock. Exit code 1 if something fails."),
    "demo": ("cli.demo:demo",
        "Start a server on a temporary folder, feed it real text, ask it questions, and clean up."),
    "release-notes": ("cli.release_notes.command:release_notes",
        "Write the release notes of a Git repository: the changes between two points, each statement with its"
        " commits."),
    "capture-run": ("cli.capture:capture_run",
        "Run a command, and keep it, its output, exit code and duration as an operational experience of a project."),
    "crawl": ("cli.crawling:crawl",
        "Keep the pages of a site, or the files of a folder, as documents of a source; again, only the changed ones."),
    "synthesize": ("cli.synthesis:synthesize",
        "Write a document from stored records, each line with its sources, to standard output."),
    "bench": ("cli.evaluation:bench", "Measure speed against a real server on a temporary folder."),
    "correct": ("cli.governance:correct",
        "Correct a raw memory, with the records made of it. `restore` undoes all but redact and delete."),
    "export": ("cli.exporting:export",
        "Write all that you may read in the organization to files; `engrain import` takes them back."),
    "import": ("cli.importing:import_source",
        "Import from other tools: transcripts, chats, notes, mail, a Git history. A second run adds new records."),
    "review": ("cli.governance:review",
        "List the review queue, or decide: approve, reject, or edit with other words."),
    "setup": ("cli.setup.command:setup",
        "Connect coding agents to Engrain: show the change of their configuration, ask, and write it."),
    "eval": ("cli.evaluation:group", "Measure the product on labelled data, keep every run, and compare runs."),
    "up": ("cli.local.commands:up",
        "Start this machine's server in the background, unless it runs. Commands start it by themselves, too."),
    "stop": ("cli.local.commands:stop_server",
        "Stop the server of the data folder. The next command that needs one starts it again."),
    "status": ("cli.local.commands:status",
        "Say which server owns the data folder, and how far its indexes are. Exit code 4 when none runs."),
    "logs": ("cli.local.commands:logs", "Show the log of the server in the background."),
    "mcp": ("cli.local.commands:mcp",
        "Serve MCP over standard input and output, for coding agents that start a command."),
    "hook": ("cli.setup.hooks:hook",
        "Answer a hook of a coding agent, with its event on standard input. Exit code 0 whatever happens."),
    "reference": ("cli.reference:reference", "Generate the reference pages of the documentation from the code."),
}  # fmt: skip
"""Place and summary of the command; the docstring at that place says more."""
HIDDEN = ("hook", "reference")


class LazyCommand(TyperCommand):
    @property
    def real(self) -> Any:  # noqa: ANN401, RUF100 - typer brings its own click
        """Import the command."""
        name = str(self.name)
        module, _, attribute = COMMANDS[name][0].partition(":")
        found = getattr(import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False)
            found.command(name)(_ending(function))
        command = typer.main.get_command(found)
        command.help = "\n\n".join(filter(None, (self.help, command.help)))
        return command

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:  # noqa: ANN401, RUF100 - as above
        return self.real.make_context(info_name, args, parent, **extra)


def _ending(function: Callable[..., int | None]) -> Callable[..., None]:
    @wraps(function)
    def run(**given: Any) -> None:
        raise typer.Exit(guarded(partial(function, **given)))

    return run


app = typer.Typer(
    name="engrain",
    help="A memory that software teams and their coding agents share.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def version() -> None:
    """Print the version."""
    from tools.runtime.version import VERSION  # noqa: PLC0415 - reading metadata is slower than the other commands' start

    typer.echo(VERSION)


for _name, (_, _summary) in COMMANDS.items():
    app.command(_name, cls=LazyCommand, help=_summary, hidden=_name in HIDDEN)(lambda: None)
for _command in VERB_COMMANDS:
    app.command()(_command)
for _group in GROUPS:
    app.add_typer(_group)
