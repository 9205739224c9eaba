"""`engrain correct` and `engrain review`."""

import os
from typing import Annotated

import typer

UrlOption = Annotated[str | None, typer.Option("--url", help="Address of the server (ENGRAIN_URL).")]
JsonOption = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]
ContentOption = Annotated[
    str | None, typer.Option("--content", "-c", help="The words that hold; - reads standard input.")
]
ReasonOption = Annotated[str | None, typer.Option("--reason", "-r", help="Why; it is kept.")]


def correct(  # noqa: PLR0913 - a parameter for each flag
    memory: Annotated[str, typer.Argument(help="Id of the raw memory, or of what was made of it.")],
    action: Annotated[
        str,
        typer.Argument(help="wrong, stale, duplicate, superseded, hide, sensitive, redact, revise, restore or delete."),
    ],
    reason: ReasonOption = None,
    content: ContentOption = None,
    other: Annotated[
        str | None, typer.Option("--with", help="The memory that replaces it, or that it duplicates.")
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Only tell what would change.")] = False,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Correct a raw memory, with what was made of it. `restore` undoes all but redact and delete.

    Exit code 1 where the correction is refused.
    """
    from cli.corrections import run_correct  # noqa: PLC0415 - only commands that talk to a server need it

    body = {
        "action": action, "reason": reason, "revised_content": content, "replacement_source_id": other,
        "duplicate_of_source_id": other,
    }  # fmt: skip
    raise typer.Exit(run_correct(os.environ, memory, body, preview=preview, as_json=as_json, url=url))


def review(
    item: Annotated[str | None, typer.Argument(help="Id of an item; without one, the queue is listed.")] = None,
    verb: Annotated[str | None, typer.Argument(help="approve, reject or edit.")] = None,
    content: ContentOption = None,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """List what waits for a decision, or decide: approve, reject, or edit with other words.

    Exit code 1 where the decision is refused.
    """
    from cli.corrections import run_review  # noqa: PLC0415 - as above

    body = {"verb": verb, "content": content, "reason": reason}
    raise typer.Exit(run_review(os.environ, item, body, as_json=as_json, url=url))
