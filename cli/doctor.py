"""`engrain doctor`: faults of this machine that keep a server or its clients from working."""

import json
import os
import platform
import shutil
import socket
import sqlite3
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs
import typer

from cli.client.failure import CommandFailed, print_json
from cli.options import DataDir, JsonOption
from cli.setup.command import SET_UP, setups
from stores.embedding.builtin import BuiltinEmbedder
from stores.embedding.shipped import SHA256, shipped_file
from stores.errors import EngrainError
from stores.folder import Holder, holder, is_claimed
from stores.ledger.migrating import HEAD
from tools.runtime.settings import Settings, read_settings
from tools.runtime.version import VERSION

TIMEOUT_S = 5.0
CLOCK_OFF_S = 5.0
LITTLE_MB, LEAST_MB = 1_024, 100
"""A rebuild of the indexes needs room beside the old ones; SQLite's log alone takes 32 MB."""
_OTHER_FOLDER = "Name another with --data-dir or ENGRAIN_DATA_DIR."
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Finding(NamedTuple):
    state: str
    """`ok`, `warn` or `fail`."""
    check: str
    detail: str
    advice: str = ""


class Examined(NamedTuple):
    """Settings, data folder, and `/api/health/ready` of the server that holds it."""

    settings: Settings
    warnings: list[str]
    claimed: bool
    holder: Holder | None
    answer: Mapping[str, Any] = {}
    clock_off_s: float = 0.0
    failure: str = ""


def doctor(data_dir: DataDir = None, as_json: JsonOption = False) -> int:
    settings, warnings = read_settings(os.environ, data_dir=data_dir)
    examined = _asked(Examined(settings, warnings, is_claimed(settings.data_dir), holder(settings.data_dir)))
    found = [finding for check in CHECKS for finding in check(examined)]
    if as_json:
        print_json([each._asdict() for each in found])
    else:
        typer.echo("\n".join(f"{each.state:5}{each.check:9}{each.detail} {each.advice}".rstrip() for each in found))
    return int(any(each.state == "fail" for each in found))


def _asked(examined: Examined) -> Examined:
    address = examined.holder.address if examined.claimed and examined.holder else None
    if address is None:
        return examined
    try:
        with _DIRECT.open(f"{address}/api/health/ready", timeout=TIMEOUT_S) as answer:
            off_s = time.time() - parsedate_to_datetime(answer.headers["Date"]).timestamp()
            return examined._replace(answer=json.load(answer), clock_off_s=off_s)
    except (OSError, ValueError, TypeError) as error:
        return examined._replace(failure=str(error) or type(error).__name__)


def _versions(examined: Examined) -> Iterator[Finding]:
    yield Finding("ok", "version", f"Engrain {VERSION}, Python {platform.python_version()}.")
    if (served := examined.answer.get("version", VERSION)) != VERSION:
        yield Finding("warn", "version", f"The server is Engrain {served}.", "Restart it.")
    for warning in examined.warnings:
        yield Finding("warn", "settings", f"{warning}.")


def _places(examined: Examined) -> Iterator[Finding]:
    folder = examined.settings.data_dir
    there = _existing(folder)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield Finding("fail", "folder", f"{folder} is not a folder that you may write to.", _OTHER_FOLDER)
    elif folder.exists() and folder.stat().st_mode & 0o077:
        yield Finding("warn", "folder", f"Others may enter {folder}.", f"Run chmod 700 '{folder}'.")
    else:
        yield Finding("ok", "folder", f"{folder}{'' if folder.exists() else ' will be made by the first start'}.")
    free_mb = shutil.disk_usage(there).free // 2**20
    state = "fail" if free_mb < LEAST_MB else "warn" if free_mb < LITTLE_MB else "ok"
    yield Finding(state, "disk", f"{free_mb:,} MB are free.", "" if state == "ok" else "Make room.")
    logins = Path(platformdirs.user_config_dir("engrain", appauthor=False))
    kept = os.access(_existing(logins), os.W_OK | os.X_OK)
    advice = "" if kept else "It cannot be written: set ENGRAIN_TOKEN instead of logging in."
    yield Finding("ok" if kept else "warn", "home", f"Logins are kept in {logins}.", advice)


def _lock(examined: Examined) -> Iterator[Finding]:
    who, host, port = examined.holder, examined.settings.host, examined.settings.port
    named = f"Process {who.pid}" if who else "A process"
    if not examined.claimed:
        left = f"{named} was killed and left its lock, which the next start takes."
        yield Finding("warn", "lock", left) if who else Finding("ok", "lock", "No server uses the folder.")
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                yield Finding("ok", "port", f"{host}:{port} is free.")
            except OSError as error:
                why = f"{host}:{port} cannot be used: {error.strerror or error}."
                advice = "Stop the program that holds it, or set ENGRAIN_PORT or ENGRAIN_HOST."
                yield Finding("warn", "port", why, advice)
    elif who is None or who.address is None:
        yield Finding("warn", "lock", f"{named} has the folder, and listens nowhere.", "Wait until it is done.")
    elif not examined.failure:
        yield Finding("ok", "lock", f"{named} serves {who.address}.")
    else:
        why = f"{named} has the folder, but {who.address} is not ready: {examined.failure}."
        yield Finding("fail", "lock", why, f"See the server's log, or run kill -9 {who.pid} and start again.")


def _model(examined: Examined) -> Iterator[Finding]:
    if (provider := examined.settings.embedding_provider) != "builtin":
        yield Finding("ok", "model", f"Not checked: ENGRAIN_EMBEDDING_PROVIDER={provider}.")
        return
    try:
        for name in SHA256:
            with shipped_file(name):
                pass
        BuiltinEmbedder().embed_query("Is it there?")
        yield Finding("ok", "model", "The models are undamaged, and load.")
    except EngrainError as error:
        yield Finding("fail", "model", error.message, error.remediation)


def _server(examined: Examined) -> Iterator[Finding]:
    for each in examined.answer.get("dependencies", ()):
        if not each["ready"]:
            yield Finding("warn", each["name"], f"{each['detail']}.", "See the server's log if this lasts.")
    for each in examined.answer.get("indexes", ()):
        state = {"failed": "fail", "degraded": "warn"}.get(each["state"], "ok")
        advice = "" if state == "ok" else "Stop the server, and run engrain check and engrain reindex."
        detail = f"{each['name']} is {each['state']}: {each['pending']} pending, {each['refused']} refused."
        yield Finding(state, "index", detail, advice)
    if examined.answer:
        state, advice = ("warn", "Set it by NTP.") if abs(examined.clock_off_s) > CLOCK_OFF_S else ("ok", "")
        yield Finding(state, "clock", f"It is {examined.clock_off_s:+.0f} s off the server's clock.", advice)


def _clients(examined: Examined) -> Iterator[Finding]:
    try:
        for name, status in setups(os.environ).items():
            yield Finding("ok" if status == SET_UP else "warn", "client", f"{name}: {status.removesuffix('.')}.")
    except CommandFailed as failure:
        yield Finding("warn", "client", failure.message, failure.remediation)


def _ledger(examined: Examined) -> Iterator[Finding]:
    file = examined.settings.data_dir / "ledger.sqlite"
    if examined.settings.database_url or not file.exists():
        return
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as ledger:
            version = str(ledger.execute("SELECT version_num FROM alembic_version").fetchone()[0])
    except (sqlite3.Error, TypeError) as error:
        yield Finding("fail", "ledger", f"{file} cannot be read: {error}.", "Restore a backup into a new folder.")
        return
    if version > HEAD:  # Their names begin with numbers.
        yield Finding("fail", "ledger", f"A newer Engrain wrote it: it has schema {version}.", "Install that version.")
    else:
        later = "" if version == HEAD else "; the next start backs it up and migrates it"
        yield Finding("ok", "ledger", f"It has schema {version}{later}.")


Check = Callable[[Examined], Iterator[Finding]]
CHECKS: tuple[Check, ...] = (_versions, _places, _ledger, _lock, _model, _server, _clients)


def _existing(path: Path) -> Path:
    return next(each for each in (path.absolute(), *path.absolute().parents) if os.path.exists(each))
