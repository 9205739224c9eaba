"""A server that runs already: what is kept of it, and how long a run waits for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.client import Client
from evals.commands import show_runs
from evals.harness.arms import ARMS, Answer, Arm
from evals.harness.server import served
from evals.options import Options
from evals.runs import Archive
from evals.suites import INTERRUPTED, NOTHING_TO_MEASURE, run_suite
from tests.evals.sets import own_lines, write_lines, write_own
from tests.stores.embedding.servers import Reply, openai, running
from tools.revision import commit
from tools.version import VERSION

WORDS = {"ENGRAIN_EMBEDDING_PROVIDER": "none"}


def refusing_poison(request: dict[str, Any]) -> Reply:
    """Embed everything but one word, which no trying again helps with."""
    return Reply.json({}, 400) if any("poison" in text for text in request["input"]) else openai(request)


def settings_of(model: str) -> dict[str, str]:
    return {
        "ENGRAIN_EMBEDDING_PROVIDER": "openai", "ENGRAIN_EMBEDDING_MODEL": "m", "ENGRAIN_EMBEDDING_BASE_URL": model,
        "ENGRAIN_EMBEDDING_DIMENSION": "4",
    }  # fmt: skip


@contextmanager
def embedding_server(folder: Path) -> Iterator[str]:
    """A server whose model refuses texts that hold a word: their index is behind for good."""
    with running(refusing_poison) as model, served(folder, settings_of(model.url), None) as target:
        yield target.address


def test_what_is_kept_of_a_run_is_what_the_server_says_and_nothing_of_this_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals.runs.record.commit", lambda: "abc")
    monkeypatch.setattr("evals.runs.record.facts", lambda: pytest.fail("This machine was asked."))
    monkeypatch.setattr("evals.runs.record.model_digest", lambda: pytest.fail("This checkout was asked."))
    said: list[str] = []
    with served(tmp_path / "elsewhere", WORDS, None) as target:
        wanted = Options(
            sets=[str(write_own(tmp_path))], url=target.address, runs=tmp_path / "runs", markdown_file=tmp_path / "r.md"
        )
        assert run_suite("retrieval", wanted, said.append) == 0, said
    record = Archive(tmp_path / "runs").records()[0]
    told = commit() or "unknown"
    assert (record.commit, record.model, record.machine, record.version) == (told, "unknown", {}, VERSION)
    assert not {"lancedb", "tantivy"} & record.versions.keys()
    assert record.settings == {
        "concurrency": 1,
        "server": {"ledger": "sqlite", "embedder": "off"},
        "asked_by": {"commit": "abc", "version": VERSION},
    }
    report = (tmp_path / "r.md").read_text()
    for row in (f"server | {target.address}", f"commit | {told}", "model | unknown", "machine | unknown"):
        assert f"| {row} |" in report
    assert show_runs(tmp_path / "runs", said.append) == 0
    assert told[:6] in said[-1]


def test_an_interrupted_run_goes_on_with_no_key_of_another_organization(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with served(tmp_path / "elsewhere", WORDS, None) as target, Client(target.address) as client:
        with client.signed_up("ada") as ada, client.signed_up("bob") as bob:
            keys = [each.token for each in (ada, bob)]
            me = ada.get("/api/auth/me")
        wanted = Options(sets=[str(write_own(tmp_path))], url=target.address, runs=tmp_path / "runs", key=keys[0])
        with monkeypatch.context() as patch:
            patch.setitem(ARMS, "fast", interrupted_after(ARMS["fast"], 4))  # type: ignore[misc]
            assert run_suite("retrieval", wanted, said.append) == INTERRUPTED
        assert run_suite("retrieval", replace(wanted, key=keys[1]), said.append) == NOTHING_TO_MEASURE
        assert "was measured otherwise: settings was" in said[-1]
        assert f"'key_of': {{'organization': '{me['organization']['id']}', 'user': '{me['user']['id']}'}}" in said[-1]
        assert not any(key in said[-1] for key in keys)
        assert run_suite("retrieval", wanted, said.append) == 0, said
    assert len(Archive(tmp_path / "runs").read("latest").cases) == 5


def interrupted_after(arm: Arm, count: int) -> Arm:
    """The same arm, until it was asked so often."""
    asked = iter(range(count))

    def ask(*given: Any) -> Answer:  # noqa: ANN401, RUF100 - whatever an arm is asked with
        if next(asked, None) is None:
            raise KeyboardInterrupt
        return arm.doors["recall"](*given)

    return replace(arm, doors={"recall": ask})


def test_an_index_of_another_organization_that_is_behind_for_good_holds_up_no_run(tmp_path: Path) -> None:
    with embedding_server(tmp_path / "elsewhere") as address, Client(address) as client:
        with client.signed_up("other") as other:
            other.post("/api/memory/raw", {"raw_content": "poison"})
        said: list[str] = []
        wanted = Options(sets=[str(write_own(tmp_path))], url=address, runs=tmp_path / "runs")
        assert run_suite("retrieval", wanted, said.append) == 0, said
        assert client.pending() > 0


def test_an_own_index_that_is_behind_for_good_ends_the_run_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals.harness.waiting.FOR_GOOD_S", 1.0)
    lines = own_lines()
    lines[1]["content"] = "poison"
    said: list[str] = []
    with embedding_server(tmp_path / "elsewhere") as address:
        wanted = Options(sets=[str(write_lines(tmp_path / "talks.jsonl", lines))], url=address, runs=tmp_path / "runs")
        assert run_suite("retrieval", wanted, said.append) == NOTHING_TO_MEASURE
    assert said[-1].startswith("The index vectors of eval-")
    assert address in said[-1]
    assert "does not hold everything" in said[-1]


def test_a_model_that_does_not_answer_ends_a_run_on_a_server_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals.harness.waiting.FOR_GOOD_S", 1.0)
    said: list[str] = []
    with running(lambda _: Reply.json({}, 500)) as model:
        wanted = Options(sets=[str(write_own(tmp_path))], server=settings_of(model.url), runs=tmp_path / "runs")
        assert run_suite("retrieval", wanted, said.append) == NOTHING_TO_MEASURE
    assert said[-1].startswith("The index vectors of the server that was started says ")
    assert "the same command goes on" in said[-1]
