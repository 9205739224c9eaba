"""Thread that takes steps, and sleeps until the next one is due or it is woken."""

import threading
from abc import ABC, abstractmethod


class StepThread(ABC):
    def __init__(self, name: str) -> None:
        self._signal = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._signal.set()

    def stop(self) -> None:
        """Begin no further step."""
        self._stopping.set()
        self._signal.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the last step; False on timeout."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @abstractmethod
    def _step(self) -> float:
        """Take a step; return the seconds to sleep. Never raises."""

    def _run(self) -> None:
        while not self._stopping.is_set():
            delay = self._step()
            if delay > 0 and not self._stopping.is_set():
                self._signal.wait(delay)
            self._signal.clear()
