"""Suites that were interrupted go on: nothing is stored or asked twice, and the figures are those of all answers."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evals.annals import Annals
from evals.client import Client
from evals.options import Options
from evals.packs import read_goals, read_records
from evals.packs.world import settled
from evals.reflection import read_notes, read_pairs
from evals.reflection.labels import SPLITS
from evals.results import Part
from evals.runs import Archive, Journal, new_record
from evals.suites import INTERRUPTED, run_suite
from tests.evals.sets import own_lines, write_lines

WORDS = {"ENGRAIN_EMBEDDING_PROVIDER": "none"}
"""Without a model a server starts and indexes faster; what is tested here needs none."""


@pytest.fixture(autouse=True)
def _one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever edits a file while tests run does not change what an interrupted run was measured with."""
    monkeypatch.setattr("evals.runs.record.commit", lambda: "abc")


class Sent:
    """What is posted on some paths; each try ends after some of it, as by Ctrl-C before an answer has come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, paths: Sequence[str], ends: Sequence[int]) -> None:
        self.bodies: list[tuple[str, Any]] = []
        self._ends = list(ends)
        plain = Client.post

        def post(client: Client, path: str, body: Any) -> dict[str, Any]:  # noqa: ANN401, RUF100 - as it comes
            if path in paths:
                if self._ends and len(self.bodies) == self._ends[0]:
                    del self._ends[0]
                    raise KeyboardInterrupt
                self.bodies.append((path, json.loads(json.dumps(body))))
            return plain(client, path, body)

        monkeypatch.setattr(Client, "post", post)

    def counted(self, path: str, of: Callable[[Any], Any]) -> Counter[Any]:
        return Counter(of(body) for sent, body in self.bodies if sent == path)


def interrupted(suite: str, options: Options, times: int) -> None:
    """Begin a run, go on with it as often as it is interrupted, and finish it."""
    said: list[str] = []
    for _ in range(times):
        assert run_suite(suite, options, said.append) == INTERRUPTED, said
    assert run_suite(suite, options, said.append) == 0, said
    assert sum("Going on with" in line for line in said) == times
    assert len(Archive(options.runs or Path()).records()) == 1


def whole(parts: Sequence[Part], *, loads: bool) -> None:
    """Every part says what asking took and what its server takes of memory, and what loading took where it loads."""
    for part in parts:
        assert part.asking_s is not None
        assert part.resident_mb is not None
        assert part.resident_mb > 50
        assert ((part.loading_s or 0) > 0) == loads


@pytest.mark.slow
def test_what_is_terminated_says_what_it_keeps_as_after_ctrl_c(tmp_path: Path) -> None:
    lines = own_lines()
    lines += [
        {"kind": "question", "id": f"q{number}", "text": f"Who is printer {number}?", "haystack": "north",
         "answers": ["north-3"]}
        for number in range(20_000)
    ]  # fmt: skip
    options = ["--set", write_lines(tmp_path / "talks.jsonl", lines), "--runs", tmp_path / "runs"]
    command = [sys.executable, "-P", "-c", "from cli.main import app; app()", "eval", *map(str, options), "--setting"]
    command.append("ENGRAIN_EMBEDDING_PROVIDER=none")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        until = time.monotonic() + 120
        while not any(path.stat().st_size for path in (tmp_path / "runs").glob("*/cases.jsonl")):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, said
    assert "Interrupted. " in said
    assert "answers are kept: the same command goes on with" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_packs_go_on_with_what_is_stored_and_what_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, stored = "/api/context/pack", "/api/entities/bulk"
    # The first pack of a try warms up. Both tries end within an arm, one in each.
    sent = Sent(monkeypatch, [made], [11, 80])
    kept = Sent(monkeypatch, [stored], [])
    report = tmp_path / "packs.json"
    interrupted("packs", Options(runs=tmp_path / "runs", server=WORDS, json_file=report), 2)
    goals = read_goals()
    asked = sent.counted(made, lambda body: (body["goal"], "evidence" in body))
    warmed = (goals[0].goal, False)
    assert asked.pop(warmed) == 1 + 3
    assert asked == Counter((goal.goal, naive) for goal in goals for naive in (False, True)) - Counter([warmed])
    assert len(kept.bodies) == 1 + len(read_records())
    cases = Archive(tmp_path / "runs").read("latest").cases
    assert [(case.arm, case.id) for case in cases] == [(arm, goal.id) for arm in ("fast", "naive") for goal in goals]
    assert sum(case.values["recall"] for case in cases if case.arm == "fast") / len(goals) > 0.5
    document = json.loads(report.read_text())
    for part in document["parts"]:
        packed = document["suite"][part["arm"]]["goals"]
        assert [case.tokens for case in cases if case.arm == part["arm"]] == [
            each["characters"] // 4 for each in packed
        ]
        assert part["queries_per_s"] == len(goals) / part["asking_s"]
    # Storing was not interrupted: how long it took is known of every try.
    whole(Archive(tmp_path / "runs").read("latest").parts, loads=True)


def test_records_that_were_stored_by_halves_are_stored_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.begin(tmp_path, new_record("packs", {}, {}, {}))
    plain, calls = Annals.keep, iter(range(20))

    def keep(self: Annals, *given: Any) -> None:  # noqa: ANN401, RUF100 - as above
        if next(calls, None) == 5:
            raise KeyboardInterrupt
        plain(self, *given)

    monkeypatch.setattr(Annals, "keep", keep)
    with pytest.raises(KeyboardInterrupt), settled(journal, "packs", Options(server=WORDS)):
        pytest.fail("It was interrupted.")
    assert journal.is_empty
    with settled(journal, "packs", Options(server=WORDS)) as settlement:
        first = settlement.world.ids
    with settled(journal, "packs", Options(server=WORDS)) as settlement:
        world = settlement.world
        assert world.ids == first
        assert set(world.keys.values()) > {record.key for record in read_records()}
        private = next(record for record in read_records() if record.author == "bob" and record.scope == "private")
        assert world.clients["bob"].get(f"/api/entities/{first[private.key]}")["name"] == private.name
    journal.close()


@pytest.mark.slow
def test_documents_go_on_with_what_is_stored_and_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "/api/synthesis/draft"
    sent, kept = Sent(monkeypatch, [made], [2, 9]), Sent(monkeypatch, ["/api/entities/bulk"], [])
    interrupted("synthesis", Options(runs=tmp_path / "runs", limit=2, server=WORDS), 2)
    # Two of each of three depths, two with sections, and one that warms each try up.
    asked = sent.counted(made, lambda body: (body["goal"], body.get("depth"), "required_sections" in body))
    assert sorted(asked.values()) == [1] * 8 + [3]
    assert len(kept.bodies) == 1 + len(read_records())
    stored = Archive(tmp_path / "runs").read("latest")
    whole(stored.parts, loads=True)
    names = {record.name for record in read_records()}
    assert all(case.best and names.issuperset(case.best) for case in stored.cases)
    assert Counter((case.set, case.arm) for case in stored.cases) == {
        ("goals", "brief"): 2, ("goals", "standard"): 2, ("goals", "deep"): 2, ("sections", "standard"): 2,
    }  # fmt: skip


@pytest.mark.slow
def test_reflection_goes_on_with_notes_that_were_read_and_pairs_that_were_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = "/api/context/reflect"
    notes = [note for split in SPLITS for note in read_notes(split)]
    pairs = read_pairs()
    sent = Sent(monkeypatch, [read], [30, len(notes) + 5])
    report = tmp_path / "reflection.json"
    interrupted("reflection", Options(runs=tmp_path / "runs", server=WORDS, json_file=report), 2)
    asked = sent.counted(read, lambda body: (body["content"], "project" in body))
    assert all(asked[note.notes, False] == 1 for note in notes)
    assert sum(count for (_, is_pair), count in asked.items() if is_pair) == len(pairs)
    stored = Archive(tmp_path / "runs").read("latest")
    cases = stored.cases
    assert len(cases) == len(notes) + len(pairs)
    assert all(case.took_ms for case in cases)
    whole(stored.parts, loads=False)
    document = json.loads(report.read_text())["suite"]
    right = sum(case.values["right"] for case in cases if case.set == "reflection-pairs") / len(pairs)
    assert right > 0.85
    assert sum(document["notes"][split]["overall"]["right"] for split in SPLITS) > 300
