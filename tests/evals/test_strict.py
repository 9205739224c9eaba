"""A strict run fails where a set's floor is missed, or where its median takes longer than it may."""

from dataclasses import replace
from pathlib import Path

import pytest

from evals.options import Options
from evals.runs import Stored
from evals.suites import FELL_SHORT, NOTHING_TO_MEASURE, run_suite
from tests.evals.test_compare import N, run

HALF = run("half", [0.5] * N)


def held(floor: float | None, p50_limit_ms: float | None) -> Stored:
    return replace(HALF, parts=[replace(HALF.parts[0], floor=floor, p50_limit_ms=p50_limit_ms)])


REACHED, BELOW, SLOW = held(0.5, 10), held(0.505, 10), held(0.5, 9.99)
FELL = f"talks, fast: recall@10 is 0.5000, below the floor of 0.505 (n = {N})."
TOOK_LONGER = f"talks, fast: p50 is 10.00 ms, above 9.99 ms (n = {N})."


@pytest.mark.parametrize(
    ("measured", "strict", "code", "failures"),
    [
        (REACHED, True, 0, []),
        (BELOW, True, FELL_SHORT, [FELL]),
        (SLOW, True, FELL_SHORT, [TOOK_LONGER]),
        (held(0.505, 9.99), True, FELL_SHORT, [FELL, TOOK_LONGER]),
        (held(None, 9.99), True, FELL_SHORT, [TOOK_LONGER]),
        (BELOW, False, 0, []),
        (SLOW, False, 0, []),
    ],
)
def test_what_a_strict_run_misses_is_named_and_makes_it_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: Stored, strict: bool, code: int, failures: list[str]
) -> None:
    monkeypatch.setattr("evals.suites.measure", lambda *_: measured)
    said: list[str] = []
    assert run_suite("retrieval", Options(runs=tmp_path, strict=strict), said.append) == code
    assert said[1:] == failures


def test_a_strict_run_that_is_held_against_nothing_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.suites.measure", lambda *_: held(None, None))
    said: list[str] = []
    assert run_suite("retrieval", Options(runs=tmp_path, strict=True), said.append) == NOTHING_TO_MEASURE
    assert "held against a floor or a limit of time" in said[-1]


def test_a_floor_that_no_question_was_held_against_is_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = replace(held(0.9, 10), cases=[replace(case, apart=True) for case in HALF.cases])
    monkeypatch.setattr("evals.suites.measure", lambda *_: apart)
    said: list[str] = []
    assert run_suite("retrieval", Options(runs=tmp_path, strict=True), said.append) == FELL_SHORT
    assert said[1:] == ["talks, fast: no question tells whether the floor of 0.9 is reached, as all are apart."]
