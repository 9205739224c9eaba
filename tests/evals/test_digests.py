"""What tells data from other data: every word of a label, and no order that sets happen to have."""

import os
import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import pytest

from evals import packs, synthesis
from evals.digests import digest_of
from evals.options import Options
from evals.packs import Goal, read_goals
from evals.synthesis import SectionRequest, WantedSection, read_requests

OTHER: dict[type, Any] = {str: "other", type(None): "other", frozenset: frozenset({"other"}), tuple: ()}


def hashed(suite: Any) -> str:  # noqa: ANN401, RUF100 - a module
    (found,) = suite.prepare(Options()).data.values()
    return str(found)


@pytest.mark.parametrize("name", [field.name for field in fields(Goal)])
@pytest.mark.parametrize("suite", [packs, synthesis], ids=["packs", "synthesis"])
def test_whatever_changes_of_a_goal_changes_the_hash(suite: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, (first, *others) = hashed(suite), read_goals()
    changed = replace(first, **{name: OTHER[type(getattr(first, name))]})
    monkeypatch.setattr(f"{suite.__name__}.run.read_goals", lambda: [changed, *others])
    assert hashed(suite) != before


@pytest.mark.parametrize("name", [field.name for field in fields(SectionRequest)])
def test_whatever_changes_of_a_request_changes_the_hash(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, (first, *others) = hashed(synthesis), read_requests()
    changed = replace(first, **{name: OTHER[type(getattr(first, name))]})
    monkeypatch.setattr("evals.synthesis.run.read_requests", lambda: [changed, *others])
    assert hashed(synthesis) != before


def test_the_prompt_and_the_records_of_a_section_are_in_the_hash() -> None:
    section = WantedSection("Costs", frozenset("ab"), "What it costs.")
    others = [replace(section, title="x"), replace(section, must=frozenset("a")), replace(section, prompt="x")]
    requests = [SectionRequest("s", "dev", "p", "g", (each,)) for each in (section, *others)]
    assert len({digest_of([request]) for request in requests}) == 4


def test_a_hash_is_the_same_in_every_process() -> None:
    code = "from evals.digests import digest_of; from evals.packs import read_goals; print(digest_of(read_goals()))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {f"{digest_of(read_goals())}\n".encode()}
