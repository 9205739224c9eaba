"""Which reference pages there are, and how they are written or compared with what lies in a folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

import typer

from cli.reference import (
    command_page,
    error_page,
    event_page,
    model_page,
    rest_page,
    setting_page,
    tool_page,
    word_page,
)
from cli.reference.markdown import MARK

PAGES: Mapping[str, tuple[str, Callable[[], str]]] = {
    "tools.md": ("What agents can call over MCP", tool_page.page),
    "rest.md": ("What programs can call over REST", rest_page.page),
    "events.md": ("What the WebSocket tells", event_page.page),
    "settings.md": ("What an operator can set", setting_page.page),
    "errors.md": ("Every error code, and the way out", error_page.page),
    "commands.md": ("The `engrain` command line", command_page.page),
    "models.md": ("The objects in requests and answers", model_page.page),
    "words.md": ("Entity types, relationship types and states", word_page.page),
}


def pages() -> dict[str, str]:
    """Generate every page; file name → text."""
    index = [f"- [{title}]({name})" for name, (title, _) in PAGES.items()]
    intro = "These pages are generated from the code. `make docs` writes them anew; `make check` says when they drift."
    made = {name: f"{MARK}\n\n{make()}" for name, (_, make) in PAGES.items()}
    return {"README.md": "\n".join([MARK, "", "# Reference", "", intro, "", *index, ""]), **made}


def run_reference(*, write: Path | None, check: Path | None) -> int:
    """Write or compare the pages. 1 when one has drifted, is missing or is no longer made; 2 when told neither."""
    if write is not None:
        _write(write)
    if check is not None:
        return _check(check)
    if write is None:
        typer.echo("Error: say --write FOLDER or --check FOLDER.", err=True)
        return 2
    return 0


def _write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for stray in _strays(folder):
        stray.unlink()
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
        typer.echo(f"wrote {folder / name}")


def _check(folder: Path) -> int:
    drifted = [f"{folder / name} {reason}" for name, reason in _drift(folder)]
    for line in drifted:
        typer.echo(f"{line}. Run `engrain reference --write {folder}`.", err=True)
    return 1 if drifted else 0


def _drift(folder: Path) -> list[tuple[str, str]]:
    found = []
    for name, text in pages().items():
        path = folder / name
        if not path.is_file():
            found.append((name, "is missing"))
        elif path.read_text(encoding="utf-8") != text:
            found.append((name, "has drifted from the code"))
    return found + [(path.name, "is no longer generated") for path in _strays(folder)]


def _strays(folder: Path) -> list[Path]:
    """Pages that an earlier version generated."""
    known = {"README.md", *PAGES}
    return [
        path
        for path in sorted(folder.glob("*.md"))
        if path.name not in known and path.read_text(encoding="utf-8").startswith(MARK)
    ]
