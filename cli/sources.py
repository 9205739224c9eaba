"""`engrain import` and `engrain export`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from cli.governance import JsonOption, UrlOption


def import_source(  # noqa: PLR0913 - a parameter for each flag
    source: Annotated[Path, typer.Argument(help="A file, a folder, or a zip archive.")],
    format_name: Annotated[
        str | None, typer.Option("--format", "-f", help="Its format; without it, Engrain looks.")
    ] = None,
    project: Annotated[str | None, typer.Option("--project", "-p", help="Project whose members may read it.")] = None,
    scope: Annotated[
        str | None, typer.Option(help="Who may read it, else: private (only you), organization, team, shared.")
    ] = None,
    scope_key: Annotated[str | None, typer.Option("--scope-key", help="Which team or memory space.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would come.")] = False,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Bring what other tools keep: transcripts, chats, notes, mail, a Git history. A second run adds what is new.

    An interrupted import goes on where it stopped. Private unless a project or scope is named.
    """
    from cli.importing import ImportOptions, run_import  # noqa: PLC0415 - only commands that talk to a server need it

    wanted = ImportOptions(source, format_name, project, scope, scope_key, dry_run, as_json, url)
    raise typer.Exit(run_import(os.environ, wanted))


def export(
    target: Annotated[Path, typer.Argument(help="The file to write; with markdown, the folder. It is made new.")],
    format_name: Annotated[str, typer.Option("--format", "-f", help="jsonl, parquet or markdown.")] = "jsonl",
    project: Annotated[str | None, typer.Option("--project", "-p", help="Only this project.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Write all that you may read in the organization to files; `engrain import` takes them back."""
    from cli.exporting import run_export  # noqa: PLC0415 - as above

    raise typer.Exit(run_export(os.environ, target, format_name, project, as_json=as_json, url=url))
