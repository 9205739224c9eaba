"""Run blocking calls off the event loop."""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))


async def in_turn(turns: anyio.CapacityLimiter, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a slow function in a worker thread, limited by `turns`."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=turns)
