"""Runs that begin in the same moment do not get into each other's way."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from evals.runs import Journal, new_record

AT_ONCE, ROUNDS = 16, 8


def test_runs_that_begin_in_the_same_moment_have_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = Barrier(AT_ONCE)

    def none_interrupted(_: Path) -> tuple[list[object], list[str]]:
        ready.wait()  # So that all are about to make their folders.
        return [], []

    monkeypatch.setattr("evals.runs.journal.read_records", none_interrupted)
    record = new_record("retrieval", {}, {}, {})

    def begin(runs: Path) -> tuple[str, str]:
        journal = Journal.begin(runs, record)
        journal.close()
        return journal.record.id, journal.folder.name

    with ThreadPoolExecutor(AT_ONCE) as several:
        for number in range(ROUNDS):
            begun = list(several.map(begin, [tmp_path / str(number)] * AT_ONCE))
            assert len({run for run, _ in begun}) == AT_ONCE
            assert all(run == folder for run, folder in begun)
