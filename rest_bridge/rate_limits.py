"""Fixed-window rate limits for routes that invite guessing."""

import ipaddress
import re
import time
from collections.abc import Callable

from rest_bridge.envelope import LimitReached

_SECONDS = {"second": 1, "minute": 60, "hour": 3600}


class FixedWindow:
    """Rate limit in fixed windows, per caller and process; forgets all callers when a window ends."""

    def __init__(self, tries: int, seconds: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.tries = tries
        self.seconds = seconds
        self.clock = clock
        self.window = -1
        self.counts: dict[str, int] = {}

    @classmethod
    def parse(cls, rate: str, clock: Callable[[], float] = time.monotonic) -> "FixedWindow":
        match = re.fullmatch(r"(\d+)/(second|minute|hour)", rate)
        if match is None:
            raise ValueError(f"not a rate: {rate!r}")
        return cls(int(match[1]), _SECONDS[match[2]], clock)

    def take(self, caller: str) -> None:
        now = self.clock()
        window = int(now // self.seconds)
        if window != self.window:
            self.window, self.counts = window, {}
        caller = one_caller(caller)
        count = self.counts[caller] = self.counts.get(caller, 0) + 1
        if count > self.tries:
            left = max(1, int((window + 1) * self.seconds - now) + 1)
            raise LimitReached(f"More than {self.tries} tries in {self.seconds} seconds.", retry_after_s=left)


def one_caller(name: str) -> str:
    """Return the address to count: for IPv6 the /64, all of which one machine has."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name
    if isinstance(address, ipaddress.IPv4Address):
        return name
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{ipaddress.IPv6Address(int(address) >> 64 << 64)}/64"
