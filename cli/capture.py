"""`engrain capture-run`: run a command and keep it as an operational experience."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Thread
from typing import IO, Annotated, TextIO
from urllib.parse import quote, urlencode

import typer
from platformdirs import user_state_dir

from cli.client import Client, CommandFailed, guarded, open_client
from cli.client.failure import NotFound, Refused, understanding
from cli.client.server import JsonObject
from cli.local.project import metrics_path
from cli.options import UrlOption
from stores.folder import replace_file
from tools.text.credentials import REDACTED, names_secret, redacted

PATH = "/api/memory/experience"
HEAD, TAIL, LINE, STEP, PART = 200_000, 700_000, 1_000, 18_000, 1_000_000
"""Bytes kept from both ends of an output, and of a line; characters of a command or goal, and of a part."""
STOP_S = 2.0
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def capture_run(
    command: Annotated[list[str], typer.Argument(help="The command, after `--`.", show_default=False)],
    project: Annotated[str, typer.Option("--project", "-p", help="Id or name of the project that keeps it.")],
    goal: Annotated[str | None, typer.Option("--goal", "-g", help="Purpose of the run, in a sentence.")] = None,
    source_id: Annotated[
        str | None, typer.Option("--source-id", help="Id of the run; a later run of the same id revises the first.")
    ] = None,
    url: UrlOption = None,
) -> int:
    """Text that looks like a credential is redacted before it leaves this machine. Exit code: the command's own."""
    run = _Run()

    def keep() -> None:
        with open_client(os.environ, url=url) as client:
            # Before the run, which may take hours: the login holds and may write, and the project is there.
            owner = _owner(client)
            found = client.call("GET", metrics_path(project))["metrics"]["project_id"]
            folder = Path(user_state_dir("engrain", appauthor=False), "runs", quote(client.server.address, ""), owner)
            for path in folder.glob("*.json"):
                guarded(partial(_send, client, path))
            run.carry_out(command)
            experience, hidden = _experience(run, command, goal, source_id or f"run:{uuid.uuid4()}")
            body: JsonObject = {"experience": experience | {"project_id": found}}
            path = folder / f"{uuid.uuid4()}.json"
            with suppress(OSError):  # Where no file can be kept, the server may take it all the same.
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                replace_file(path, json.dumps(body).encode())
            _send(client, path, body, hidden)

    code = guarded(keep)
    return code if run.status is None else run.status


def _owner(client: Client) -> str:
    me = client.call("GET", "/api/auth/me")
    if me["org_role"] == "viewer" or "api:write" not in me["scopes"]:
        raise CommandFailed("You may only read there.", "It needs a role that may write; a key, api:write.")
    return f"{me['organization']['id']}.{me['user']['id']}"


def _send(client: Client, path: Path, body: JsonObject | None = None, hidden: int = 0) -> None:
    run = body or json.loads(path.read_text())
    try:
        with understanding(client.server.address):
            if _owner(client) != path.parent.name:
                raise CommandFailed("You are logged in as another user than when the run began.")
            if body is None:
                _require_newest(client, run["experience"])
            kept = f"Kept as {client.call('POST', PATH, run)['manifest_id']}"
    except CommandFailed as failure:
        if path.exists():
            where, then = path, "the next `engrain capture-run` of the same user and organization sends it"
            if isinstance(failure, Refused) and failure.status < 500 and failure.status not in (401, 429):
                where, then = path.rename(path.with_suffix(".refused")), "it is not sent again, unless renamed to .json"
            failure.remediation += f" The run is kept in {where}; {then}."
        raise
    path.unlink(missing_ok=True)
    without = f", without {hidden} that looked like credentials" if hidden else ""
    typer.echo(f"{kept}{without}.", err=True)


def _require_newest(client: Client, experience: JsonObject) -> None:
    query = urlencode({"source_id": experience["source_id"]})
    try:
        metadata = client.call("GET", f"{PATH}?{query}")["experience"]["metadata"]
    except NotFound:
        return
    # One without a time was sent by another program.
    if str(metadata.get("ended_at", "unknown")) > experience["metadata"]["ended_at"]:
        raise Refused(409, "conflict", f"A newer run of {experience['source_id']} is kept already.", "", None)


@dataclass(slots=True)
class _Run:
    folder: str = field(default_factory=os.getcwd)
    """Working folder at the start; it may be gone at the end."""
    status: int | None = None
    seconds: float = 0
    outputs: dict[str, list[str]] = field(default_factory=dict)
    is_stopped: bool = False

    def carry_out(self, command: Sequence[str]) -> None:
        began = time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603 - its purpose
        except OSError as error:
            self.status = 127 if isinstance(error, FileNotFoundError) else 126
            raise CommandFailed(
                f"{command[0]} cannot be run: {error.strerror}.", "Check its name; a pipeline needs `sh -c '…'`."
            ) from error

        def pass_on(number: int, _frame: object) -> None:
            self.is_stopped = True
            process.send_signal(number)

        # Ctrl-C reaches the command, too; its output until then is kept.
        before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
        stops = (each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL)
        before |= {number: signal.signal(number, pass_on) for number in stops}
        try:
            outputs = {"stdout": _Output(process.stdout, sys.stdout), "stderr": _Output(process.stderr, sys.stderr)}
            status = process.wait()
            # Ctrl-C does not wait for processes that the command left running.
            patience_s = STOP_S if self.is_stopped else None
            self.outputs = {name: text for name, output in outputs.items() if any(text := output.text(patience_s))}
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        self.status = status if status >= 0 else 128 - status
        self.seconds = time.monotonic() - began


class _Output:
    def __init__(self, source: IO[bytes] | None, target: TextIO) -> None:
        self._head, self._tail, self._left_out = bytearray(), bytearray(), 0
        self._thread = Thread(target=self._pass, args=(source, target.buffer), daemon=True)
        self._thread.start()

    def _pass(self, source: IO[bytes], target: IO[bytes]) -> None:
        while block := os.read(source.fileno(), 65_536):
            with suppress(OSError):  # The reader may be gone.
                target.write(block)
                target.flush()
            room = max(HEAD - len(self._head), 0)
            self._head += block[:room]
            self._tail += block[room:]
            if (over := len(self._tail) - TAIL) > 0:
                del self._tail[:over]
                self._left_out += over

    def text(self, patience_s: float | None) -> list[str]:
        self._thread.join(patience_s)
        if not self._left_out:
            return [_text(self._head + self._tail)]
        # Whole lines: a part of a credential is none to see.
        end = self._head.rfind(b"\n", HEAD - LINE) + 1 or HEAD
        start = self._tail.find(b"\n", 0, LINE) + 1
        left_out = HEAD - end + self._left_out + start
        return [_text(self._head[:end]), f"\n… {left_out} bytes …\n", _text(self._tail[start:])]


def _text(said: bytearray) -> str:
    return _ESCAPE.sub("", said.decode("utf-8", "replace")).replace("\0", "")


def _experience(run: _Run, words: list[str], goal: str | None, source_id: str) -> tuple[JsonObject, int]:
    counts: list[int] = []

    def safe(text: str) -> str:
        text, found = redacted(text.encode(errors="surrogateescape").decode(errors="replace"))
        counts.append(len(found))
        return text

    for place in range(1, len(words)):
        if names_secret(words[place - 1]):
            counts.append(1)
            words[place] = REDACTED
    command = safe(shlex.join(words))
    told = f"exit code {run.status} after {run.seconds:.1f} s"
    evidence = [{"id": name, "content": "".join(map(safe, texts))[-PART:]} for name, texts in run.outputs.items()]
    step: JsonObject = {
        "id": "run", "ordinal": 1, "uri": Path(safe(run.folder)).as_uri(), "action": command[:STEP],
        "evidence": evidence or [{"id": "status", "content": told}],
        "metadata": {"exit_code": run.status, "seconds": round(run.seconds, 3)},
    }  # fmt: skip
    experience: JsonObject = {
        "source_id": safe(source_id), "goal": safe(goal or f"Run {command}")[:STEP], "outcome": told,
        "observations": [step], "metadata": {"ended_at": datetime.now(UTC).isoformat(timespec="milliseconds")},
    }  # fmt: skip
    return experience, sum(counts)
