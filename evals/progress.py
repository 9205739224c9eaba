"""Progress bars with the time left, on standard error; where that is no terminal, one line for each step."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], None]
_remarked: set[str] = set()
_remarking = threading.Lock()


@contextmanager
def progress(title: str, total: int, done: int = 0) -> Iterator[Advance]:
    """Show how far a step has come until the block ends; call what is given with how much more is done."""
    if not sys.stderr.isatty():
        print(f"{title}: {done} of {total} done …" if done else f"{title}: {total} …", file=sys.stderr)  # noqa: T201 - as above
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - loads slowly
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda count: bar.advance(task, count)


def remark(about: str, sentence: str) -> None:
    """Say something about a matter on standard error, above the bars; a process says it once, from whatever thread."""
    with _remarking:
        if about not in _remarked:
            _remarked.add(about)
            print(sentence, file=sys.stderr, flush=True)  # noqa: T201 - where the bars are, whose library moves it above
