"""Worker threads that read texts for the indexes, and make way for searches.

A passage takes up to 200 ms of one core, a query 20 ms of two.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from stores.processor import yield_to_others

Text = TypeVar("Text")
Result = TypeVar("Result")
QUIET_S: Final = 5.0
"""After the last search, until texts are read in parallel again."""


class Workers:
    """Threads that help the calling one. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._searched_at = -QUIET_S

    @property
    def available(self) -> int:
        return self._most if time.monotonic() - self._searched_at >= QUIET_S else 1

    def make_way(self) -> None:
        """Note a search: helpers begin no other text for `QUIET_S`."""
        self._searched_at = time.monotonic()

    def map(self, read: Callable[[Text], Result], texts: Sequence[Text]) -> list[Result]:
        """Read texts on all threads, in order; raise the first error once no text is being read any more."""
        found = self._read_all(read, texts, lambda: True)
        return [found[number] for number in range(len(texts))]

    def map_until_search(self, read: Callable[[Text], Result], texts: Sequence[Text]) -> list[Result | None]:
        """Read texts until a search arrives; None for texts that failed or were not begun."""

        def attempt(text: Text) -> Result | None:
            with suppress(Exception):
                return read(text)
            return None

        found = self._read_all(attempt, texts, lambda: self.available > 1)
        return [found.get(number) for number in range(len(texts))]

    def _read_all(
        self, read: Callable[[Text], Result], texts: Sequence[Text], goes_on: Callable[[], bool]
    ) -> dict[int, Result]:
        found: dict[int, Result] = {}
        faults: list[BaseException] = []
        # Threads share the iterator: each takes the next number.
        numbers = iter(range(len(texts)))

        def work(goes_on: Callable[[], bool]) -> None:
            try:
                while not faults and goes_on() and (number := next(numbers, None)) is not None:
                    found[number] = read(texts[number])
            except BaseException as fault:  # noqa: BLE001  # raised on the calling thread
                faults.append(fault)

        def help_out() -> None:
            yield_to_others()
            work(lambda: self.available > 1)

        # Daemons, unlike the threads of an executor: a server that hangs would keep this process from its end.
        helpers: list[threading.Thread] = []
        with suppress(RuntimeError):  # no further thread can be started
            for _ in texts[1 : self.available]:
                helper = threading.Thread(target=help_out, daemon=True)
                helper.start()
                helpers.append(helper)
        work(goes_on)
        for helper in helpers:
            helper.join()
        if faults:
            raise faults[0]
        return found
