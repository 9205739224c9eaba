"""The reference pages: written into a folder, or compared with it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import typer

from cli.reference import command_page, error_page, event_page, setting_page, tool_page, word_page
from cli.reference.markdown import MARK

PAGES: Mapping[str, tuple[str, Callable[[typer.Typer], str]]] = {
    "tools.md": ("MCP tools", lambda _: tool_page.page()),
    "events.md": ("Events of the WebSocket", lambda _: event_page.page()),
    "settings.md": ("Settings", lambda _: setting_page.page()),
    "errors.md": ("Error codes, with remediation", lambda _: error_page.page()),
    "commands.md": ("The `engrain` command line", command_page.page),
    "words.md": ("Entity types, relationship types and states", lambda _: word_page.page()),
}


def pages(app: typer.Typer) -> dict[str, str]:
    index = [f"- [{title}]({name})" for name, (title, _) in PAGES.items()]
    intro = (
        "These pages are generated from the code. `make docs` writes them anew; `make check` says when they drift.\n"
        "The reference of REST is the OpenAPI document at `/api/openapi.json`: [REST](../guide/rest.md)."
    )
    made = {name: f"{MARK}\n\n{make(app)}" for name, (_, make) in PAGES.items()}
    return {"README.md": "\n".join([MARK, "", "# Reference", "", intro, "", *index, ""]), **made}


def run_reference(app: typer.Typer, *, write: Path | None, check: Path | None) -> int:
    """Write or compare the pages. Return 1 after drift, 2 without either option."""
    if write is not None:
        _write(app, write)
    if check is not None:
        return _check(app, check)
    if write is None:
        typer.echo("Error: say --write FOLDER or --check FOLDER.", err=True)
        return 2
    return 0


def _write(app: typer.Typer, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for stray in _strays(folder):
        stray.unlink()
    for name, text in pages(app).items():
        (folder / name).write_text(text, encoding="utf-8")
        typer.echo(f"wrote {folder / name}")


def _check(app: typer.Typer, folder: Path) -> int:
    drifted = [f"{folder / name} {reason}" for name, reason in _drift(app, folder)]
    for line in drifted:
        typer.echo(f"{line}. Run `engrain reference --write {folder}`.", err=True)
    return 1 if drifted else 0


def _drift(app: typer.Typer, folder: Path) -> list[tuple[str, str]]:
    found = []
    for name, text in pages(app).items():
        path = folder / name
        if not path.is_file():
            found.append((name, "is missing"))
        elif path.read_text(encoding="utf-8") != text:
            found.append((name, "has drifted from the code"))
    return found + [(path.name, "is no longer generated") for path in _strays(folder)]


def _strays(folder: Path) -> list[Path]:
    known = {"README.md", *PAGES}
    return [
        path
        for path in sorted(folder.glob("*.md"))
        if path.name not in known and path.read_text(encoding="utf-8").startswith(MARK)
    ]
