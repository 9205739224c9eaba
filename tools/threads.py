"""Runs blocking store calls off the event loop."""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio.to_thread

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a blocking function in a worker thread and await its answer."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))
