"""`engrain capture-run`: run a command and keep it as an operational experience."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, TextIO

import typer

from cli.client import CommandFailed, guarded, open_client
from cli.client.failure import understanding
from cli.client.server import JsonObject
from tools.text.credentials import redacted

PATH = "/api/memory/experience"
HEAD, TAIL, STEP = 200_000, 700_000, 18_000
"""Bytes of an output that are kept, what is between is counted; characters of a command or goal."""
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


@dataclass(frozen=True, slots=True)
class Options:
    command: Sequence[str]
    project: str
    goal: str | None
    source_id: str | None
    url: str | None


def run_capture(environ: Mapping[str, str], options: Options) -> int:
    """Run the command, show its output as it comes, keep both, and return its exit code, or the fault's after a 0."""
    run = _Run()

    def command() -> None:
        run.carry_out(options.command)
        body, hidden = _experience(options, run)
        with open_client(environ, url=options.url) as client:
            receipt = client.call("POST", PATH, body)
            with understanding(client.server.address):
                kept = f"Kept as {receipt['manifest_id']}"
        without = f", without {hidden} that looked like credentials" if hidden else ""
        typer.echo(f"{kept}{without}.", err=True)

    code = guarded(command)
    return run.status or code


@dataclass(slots=True)
class _Run:
    status: int = 0
    seconds: float = 0
    outputs: dict[str, str] = field(default_factory=dict)

    def carry_out(self, command: Sequence[str]) -> None:
        began = time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603 - its purpose
        except OSError as error:
            raise CommandFailed(
                f"{command[0]} cannot be run: {error.strerror}.", "Check its name; a pipeline needs `sh -c '…'`."
            ) from error
        # Ctrl-C is the command's to answer; what it said until then is kept.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            outputs = {"stdout": _Output(process.stdout, sys.stdout), "stderr": _Output(process.stderr, sys.stderr)}
            status = process.wait()
            self.outputs = {name: text for name, output in outputs.items() if (text := output.text())}
        finally:
            signal.signal(signal.SIGINT, before)
        self.status = status if status >= 0 else 128 - status
        self.seconds = time.monotonic() - began


class _Output:
    """Passes a stream on as it comes, and keeps its beginning and its end."""

    def __init__(self, source: IO[bytes] | None, target: TextIO) -> None:
        self._head, self._tail, self._left_out = bytearray(), bytearray(), 0
        self._thread = Thread(target=self._pass, args=(source, target.buffer), daemon=True)
        self._thread.start()

    def _pass(self, source: IO[bytes], target: IO[bytes]) -> None:
        while block := os.read(source.fileno(), 65_536):
            with suppress(OSError):  # Whoever read it may be gone.
                target.write(block)
                target.flush()
            room = max(HEAD - len(self._head), 0)
            self._head += block[:room]
            self._tail += block[room:]
            if (over := len(self._tail) - TAIL) > 0:
                del self._tail[:over]
                self._left_out += over

    def text(self) -> str:
        self._thread.join()
        gap = f"\n… {self._left_out} bytes …\n".encode() if self._left_out else b""
        said = bytes(self._head + gap + self._tail).decode("utf-8", "replace")
        return _ESCAPE.sub("", said).replace("\0", "")


def _experience(options: Options, run: _Run) -> tuple[JsonObject, int]:
    counts: list[int] = []

    def safe(text: str) -> str:
        text, count = redacted(text)
        counts.append(count)
        return text

    command = safe(shlex.join(options.command))
    told = f"exit code {run.status} after {run.seconds:.1f} s"
    evidence = [{"id": name, "content": safe(text)} for name, text in run.outputs.items()]
    step: JsonObject = {
        "id": "run",
        "ordinal": 1,
        "uri": Path.cwd().as_uri(),
        "action": command[:STEP],
        "evidence": evidence or [{"id": "status", "content": told}],
        "metadata": {"exit_code": run.status, "seconds": round(run.seconds, 3)},
    }
    experience: JsonObject = {
        "source_id": options.source_id or f"run:{uuid.uuid4()}",
        "goal": safe(options.goal or f"Run {command}")[:STEP],
        "outcome": told,
        "project_id": options.project,
        "observations": [step],
    }
    return {"experience": experience}, sum(counts)
