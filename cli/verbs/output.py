"""Print answers: on a terminal with rendered Markdown, a pager and a spinner; elsewhere as plain text."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

import typer

from cli.client import ToolAnswer
from cli.client.failure import shown

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text

PATIENCE_S = 1.0
_IDS = r"\b[a-z_]+_[0-9a-f]{8,}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b"


def print_answer(answer: ToolAnswer) -> None:
    """Print the text of an answer; on a terminal, through $PAGER if it is longer than the screen."""
    text = _harmless(answer.text).strip("\n")
    if not sys.stdout.isatty():
        typer.echo(text)
        return
    if not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        text = _rendered(text, answer).strip("\n")
    if text.count("\n") < shutil.get_terminal_size().lines - 1:
        typer.echo(text)
        return
    import pydoc  # noqa: PLC0415 - only for long answers

    os.environ.setdefault("LESS", "FRX")
    pydoc.pager(text + "\n")


@contextmanager
def waiting() -> Iterator[None]:
    """Show a spinner on a terminal's standard error once the block takes longer than PATIENCE_S."""
    begun: list[Status] = []

    def begin() -> None:
        from rich.console import Console  # noqa: PLC0415 - only for slow answers

        begun.append(Console(stderr=True).status("The server is at work …"))
        begun[0].start()

    timer = Timer(PATIENCE_S, begin)
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if sys.stderr.isatty():
            timer.join()
        for status in begun:
            status.stop()


def _harmless(text: str) -> str:
    return "\n".join(shown(line.expandtabs()) for line in text.split("\n"))


def _rendered(text: str, answer: ToolAnswer) -> str:
    from rich.console import Console  # noqa: PLC0415 - only on a terminal
    from rich.markdown import Markdown  # noqa: PLC0415 - as above

    markdown = _harmless(str(answer.structure.get("markdown") or answer.structure.get("content") or ""))
    # Content is indented in the text.
    places = (markdown, "".join("\n" + f"  {line}".rstrip() for line in markdown.splitlines()))
    block = next((each for each in places if markdown and each in text), None)
    before, _, after = text.partition(block) if block is not None else (text, "", "")
    middle = Markdown(markdown, hyperlinks=False) if block is not None else ""
    console = Console(force_terminal=True, highlight=False)
    with console.capture() as held:
        for part in (_marked(before), middle, _marked(after)):
            console.print(part, soft_wrap=not isinstance(part, Markdown))
    return held.get()


def _marked(text: str) -> "Text":
    from rich.text import Text  # noqa: PLC0415 - as above

    marked = Text(text.strip("\n"))
    marked.highlight_regex(_IDS, "cyan")
    return marked
