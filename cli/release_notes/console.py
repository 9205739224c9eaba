"""Console output: progress on standard error, notes on standard output."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TextIO

from tools.text.plain import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

_WITHIN = re.compile(r"\[([^\[\]]+)\]\(#[\w-]+\)")
"""Internal link, useless on a terminal."""
STEP_LIMIT = 100
DEBUG_LIMIT = 400


class Steps:
    """Progress: a spinner on a terminal, a line per step with `--debug`, otherwise nothing."""

    _console: "Console | None" = None
    _status: "Status | None" = None

    def __init__(self, stream: TextIO, *, debug: bool, spinner: bool) -> None:
        self._stream = stream
        self._debug = debug
        self._started = self._since = time.monotonic()
        if spinner and not debug and stream.isatty():
            from rich.console import Console  # noqa: PLC0415 - loading it takes long, and pipes need none

            self._console = Console(file=stream)
            self._status = self._console.status("")

    def __call__(self, step: str, detail: object = "") -> None:
        if self._status is not None:
            from rich.text import Text  # noqa: PLC0415 - as above

            self._status.update(Text(one_line(step, STEP_LIMIT)))
        if self._debug:
            now = time.monotonic()
            more = f": {one_line(str(detail), DEBUG_LIMIT)}" if detail != "" else ""
            self._say(f"[{now - self._started:7.3f} s, +{now - self._since:.3f}] {one_line(step, STEP_LIMIT)}{more}")
            self._since = now

    def note(self, text: str) -> None:
        self._say(one_line(text))

    @contextmanager
    def shown(self) -> Iterator[None]:
        with self._status or nullcontext():
            yield

    def _say(self, line: str) -> None:
        try:
            if self._console is not None:
                self._console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)
            else:
                print(line, file=self._stream, flush=True)
        except (OSError, ValueError):  # nobody reads it: the notes count
            return


def show(markdown: str, *, raw: bool) -> None:
    """Write the notes to standard output, as they are or rendered.

    Raises:
        BrokenPipeError, OSError.
    """
    stream = sys.stdout
    if stream is None:
        raise BrokenPipeError
    reconfigure = getattr(stream, "reconfigure", None)
    if raw:
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace", newline="\n")
        stream.write(markdown)
    else:
        from rich.console import Console  # noqa: PLC0415 - as above
        from rich.markdown import Markdown  # noqa: PLC0415 - as above

        class Page(Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError

        if reconfigure is not None:
            reconfigure(errors="replace")  # a question mark for what the terminal's encoding lacks
        Page(file=stream, emoji=False, highlight=False).print(Markdown(_WITHIN.sub(r"\1", markdown)))
    stream.flush()
