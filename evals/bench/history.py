"""A generated repository with a long history, and a mailbox: release notes, each in its own process, and imports."""

import random
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from evals.bench.measurement import Figure, Measurement, Target
from evals.bench.stages import WITHOUT_VECTORS, signed_up
from evals.bench.texts import records
from evals.client import Client
from evals.machine import resident_mb, spread, timed_ms
from evals.release_notes.labelled_ranges import write_notes
from tools.imports.adapters import ADAPTERS, batches
from tools.imports.files import open_source
from tools.imports.models import BATCH

BEGINNING, END = "v1.0.0", "v2.0.0"
_PARTS = 20
_PATHS = [f"src/tool/part{one}/module{other}.py" for one in range(_PARTS) for other in range(15)]
_VERBS = ("Add", "Fix", "Improve", "Remove", "feat(store): add", "fix: handle", "Support", "Speed up", "docs: explain")
_THINGS = ("retries", "the cache", "`--limit`", "streaming", "empty input", "a backend", "Python 3.9", "timeouts")
_MANIFEST = '[project]\nname = "tool"\nversion = "{}"\ndependencies = ["httpx>={}"]\n'
_BIG = 4_000_000


def long_history(folder: Path, commits: int) -> None:
    """Make a bare repository with this many commits between two tags; deterministic."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(folder)], check=True)  # noqa: S603, S607 - Git's own program
    # One file for each object, as a repository has them that people work in.
    command = ["git", "-C", str(folder), "-c", "fastimport.unpackLimit=100000000", "fast-import", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:  # noqa: S603 - as above
        assert process.stdin is not None  # noqa: S101 - for the type checker
        process.stdin.writelines(_commits(random.Random(commits), commits))  # noqa: S311 - the same on every run
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def _commits(chance: random.Random, commits: int) -> Iterator[str]:
    texts: dict[str, list[str]] = {}
    files = {path: _edited(texts, path, number) for number, path in enumerate(_PATHS)}
    yield _commit(chance, 1, "Begin", [], files | {"pyproject.toml": _MANIFEST.format("1.0.0", 1)})
    yield f"reset refs/tags/{BEGINNING}\nfrom :1\n"
    head, side, beside = 1, 0, dict[str, str]()
    for number in range(2, commits + 1):
        place, message = number % 25, _message(chance, number)
        if place == 20 and side:
            title = f"Merge pull request #{number} from someone/branch\n\n{message}"
            yield _commit(chance, number, title, [head, side], beside)
            head, side, beside = number, 0, {}
            continue
        files = {path: _edited(texts, path, number) for path in chance.sample(_PATHS, chance.randint(1, 4))}
        files |= {"CHANGELOG.md": f"# Changes\n\n## Unreleased\n\n- Number {number}\n"} if number % 10 == 0 else {}
        files |= {"pyproject.toml": _MANIFEST.format("2.0.0", number)} if number % 40 == 0 else {}
        files |= {"assets/data.bin": "\0" * _BIG} if number == 60 else {}
        yield _commit(chance, number, message, [side or head], files)
        if place in range(11, 20):
            side, beside = number, beside | files
        else:
            head = number
    yield _commit(chance, commits + 1, "Release 2.0.0", [head, side] if side else [head], beside)
    yield f"reset refs/tags/{END}\nfrom :{commits + 1}\n"


def _edited(texts: dict[str, list[str]], path: str, number: int) -> str:
    lines = texts.setdefault(path, ['"""A module."""', ""])
    lines += [f"def step_{number}(value: int, *, limit: int = {number}) -> int:", f"    return value + {number}", ""]
    if len(lines) > 240:
        del lines[2:62]
    return "\n".join(lines)


def _commit(chance: random.Random, mark: int, message: str, parents: Sequence[int], files: Mapping[str, str]) -> str:
    number = chance.randrange(60)
    by = f"Person {number} <person.{number}@example.org> {1_700_000_000 + 600 * mark} +0200"
    lines = ["commit refs/heads/main", f"mark :{mark}", f"committer {by}", f"data {len(message)}", message]
    lines += [f"{word} :{parent}" for word, parent in zip(("from", "merge"), parents, strict=False)]
    for path, text in files.items():
        lines += [f"M 100644 inline {path}", f"data {len(text)}", text]
    return "\n".join(lines) + "\n"


def _message(chance: random.Random, number: int) -> str:
    subject = f"{chance.choice(_VERBS)} {chance.choice(_THINGS)} in part {number % _PARTS} (#{number})"
    body = " ".join(chance.choices(("this", "change", "makes", "calls", "safe", "when", "input", "is", "late"), k=40))
    other = f"Person {number % 60} <person.{number % 60}@example.org>"
    return f"{subject}\n\n{body}\n\nFixes #{number}\nCo-authored-by: {other}\n"


RUNS, QUICK_RUNS = 5, 2
FEW, QUICK_FEW = 500, 60
MANY, QUICK_MANY = 20_000, 200


def measure_release_notes(measurement: Measurement, folder: Path) -> Iterator[Figure]:
    quick = measurement.quick
    few, many = (QUICK_FEW, QUICK_MANY) if quick else (FEW, MANY)
    found = {}
    for count, runs in ((few, QUICK_RUNS if quick else RUNS), (many, 1)):
        measurement.say(f"release notes of {count:,} commits …")
        long_history(folder / str(count), count)
        found[count] = [write_notes(folder / str(count), BEGINNING, END) for _ in range(runs)]
    command = ["git", "-C", str(folder / str(many)), "log", "--name-only", f"{BEGINNING}..{END}"]
    (floor,) = timed_ms(partial(subprocess.run, stdout=subprocess.DEVNULL, check=True), [command])
    times = spread([run.took_s for run in found[few]])
    yield Figure(f"release notes of {few:,} commits", "s", times.p50, times.n, times.p95, Target(3, 2))
    yield Figure(f"release notes of {many:,} commits", "s", found[many][0].took_s, 1, target=Target(20, 10))
    yield Figure("most memory of that process", "MB", found[many][0].peak_mb, 1, target=Target(300, 150))
    yield Figure("a bare `git log --name-only` of that history", "s", floor / 1000, 1)


MAILS, COMMITS = 10_000, 20_000
REST_S = 10.0
"""Seconds until the background loading of a new server is over."""
_MAIL = """From ada@localhost.test Mon Jan  1 00:00:00 2026
From: Ada <ada@localhost.test>
To: Bob <bob@localhost.test>
Date: Mon, 01 Jan 2026 10:00:00 +0000
Message-ID: <{number}@localhost.test>
Subject: {subject}

{content}

"""


def measure_imports(measurement: Measurement, folder: Path) -> Iterator[Figure]:
    mails, commits = measurement.times(MAILS), measurement.times(COMMITS)
    measurement.say(f"imports of {mails:,} mails and {commits:,} commits …")
    mailbox, history = folder / "mail.mbox", folder / "history"
    folder.mkdir()
    with mailbox.open("w") as file:
        for number, each in enumerate(records(mails)):
            file.write(_MAIL.format(number=number, subject=each.name, content=each.content))
    long_history(history, commits)
    with signed_up(measurement, folder / "data", WITHOUT_VECTORS) as person:
        time.sleep(REST_S)
        idle_mb = resident_mb(measurement.pid)[0] or 0
        rate = mails / _imported(person, mailbox, "mbox")
        grown_mb = (resident_mb(measurement.pid)[1] or 0) - idle_mb
        yield Figure("mails imported", "/s", rate, mails, target=Target(300, 1000, True))
        yield Figure("memory of the server, most above idle", "MB", grown_mb, 1, target=Target(200, 100))
        yield Figure("history imported", "s", _imported(person, history, "git"), commits, target=Target(60, 30))


def _imported(person: Client, path: Path, adapter: str) -> float:
    start = time.perf_counter()
    begun = person.post("/api/ingestion/imports", {"source_uri": path.as_uri(), "adapter_name": adapter})
    for batch in batches(ADAPTERS[adapter], open_source(path), {}, most=BATCH):
        person.post(f"/api/ingestion/imports/{begun['import_id']}/records", batch.body())
    return time.perf_counter() - start
