"""The retrieval suite against a real server: stored in order, asked by every arm, and kept."""

import gzip
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from evals.client import Client
from evals.datasets import Collection, Question
from evals.harness.arms import ARMS, Answer, Arm
from evals.harness.retrieval import read_collections
from evals.harness.server import hints
from evals.metrics import MEASURES
from evals.runs import Options, read_run
from evals.suites import INTERRUPTED, NOTHING_TO_MEASURE, run_suite
from tests.evals.sets import QUESTIONS, own_lines, write_lines, write_own, write_scifact

WORDS = {"ENGRAIN_EMBEDDING_PROVIDER": "none"}


@pytest.fixture(autouse=True)
def _one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.runs.commit", lambda: "abc")


def options(tmp_path: Path, **changes: object) -> Options:
    given: dict[str, object] = {"sets": [str(write_own(tmp_path))], "runs": tmp_path / "runs", "server": WORDS}
    return Options(**{**given, **changes})  # type: ignore[arg-type]


@pytest.mark.slow
def test_memories_and_documents_are_asked_by_every_arm_and_kept(tmp_path: Path) -> None:
    write_scifact(tmp_path / "data" / "scifact")
    said: list[str] = []
    sets = ["scifact", str(write_own(tmp_path))]
    wanted = options(tmp_path, data=tmp_path / "data", sets=sets, arms=list(ARMS), server={})
    assert run_suite("retrieval", wanted, said.append) == 0, said
    run = read_run("latest", tmp_path / "runs")
    assert Counter((case.set, case.arm) for case in run.cases) == Counter(
        {("scifact", arm): len(QUESTIONS) for arm in ARMS} | {("talks", arm): 5 for arm in ARMS}
    )
    for case in run.cases:
        assert set(case.values) == set(MEASURES)
        assert (case.took_ms is None) == (case.arm in ("naive", "dense", "first256"))
        assert case.tokens
        # Everything that is found is a text of the question's own haystack.
        assert all(found.startswith(case.cluster) for found in case.found)
    assert all(case.values["recall@10"] == 1 for case in run.cases if case.arm == "fast")
    assert set(run.data) == {"scifact", "talks"}
    assert all((part.resident_mb or 0) > 50 for part in run.parts)


def test_questions_without_an_answer_are_asked_last_by_arms_whose_scores_compare(tmp_path: Path) -> None:
    nothing = {"kind": "question", "haystack": "north", "answers": [], "cluster": "north"}
    beside = [{**nothing, "id": "mars", "text": "Who walked on Mars?"}, {**nothing, "id": "disk", "text": "Which disk"}]
    file = write_lines(tmp_path / "more.jsonl", [*own_lines(), *beside])
    said: list[str] = []
    wanted = options(tmp_path, sets=[str(file)], arms=["fast", "naive"])
    assert run_suite("retrieval", wanted, said.append) == 0, said
    run = read_run("latest", tmp_path / "runs")
    counted = Counter((case.set, case.arm) for case in run.cases)
    assert counted == {("talks", "fast"): 5, ("talks", "naive"): 5, ("talks unanswered", "fast"): 2}
    found = {case.id: case for case in run.cases if case.set == "talks unanswered"}
    assert (found["mars"].score, found["mars"].values) == (0, {"AUROC": 1.0, "below@0.3": 1.0})
    assert found["disk"].values["AUROC"] < 1
    assert {case.score for case in run.cases if case.arm == "naive"} == {None}


def test_an_interrupted_run_ends_its_server_and_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(client: Client, collection: Collection, each: Question) -> Answer:
        raise KeyboardInterrupt

    monkeypatch.setitem(ARMS, "fast", Arm("fast", "", {"recall": ask}))  # type: ignore[misc]
    said: list[str] = []
    assert run_suite("retrieval", options(tmp_path), said.append) == INTERRUPTED
    assert not list((tmp_path / "runs").iterdir())


def test_who_spoke_is_stored_unless_it_is_left_out(tmp_path: Path) -> None:
    for without, speakers in ((False, {"Ada"}), (True, {None})):
        (found,) = read_collections(options(tmp_path, without_speakers=without))
        assert {hints(text).get("speaker") for text in found.texts} == speakers
    assert found.remarks == ("without speakers",)


@pytest.mark.parametrize(
    ("suite", "changes", "word"),
    [
        ("retrieval", {"sets": ["trec"]}, "no data set trec"),
        ("retrieval", {"sets": ["locomo"], "data": Path("/nowhere")}, "no folder"),
        ("retrieval", {"arms": ["slow"]}, "no arm slow"),
        ("retrieval", {"arms": []}, "no arm ''"),
        ("reflection", {"sets": (), "limit": 5}, "takes no limit"),
    ],
)
def test_what_cannot_be_measured_is_a_sentence_and_exit_code_2(
    tmp_path: Path, suite: str, changes: dict[str, object], word: str
) -> None:
    said: list[str] = []
    assert run_suite(suite, options(tmp_path, **changes), said.append) == NOTHING_TO_MEASURE
    assert word in said[-1]


def test_absent_and_damaged_data_are_a_sentence(tmp_path: Path) -> None:
    said: list[str] = []
    for data, names in ((tmp_path / "nowhere", []), (tmp_path, []), (tmp_path, ["locomo"])):
        assert run_suite("retrieval", Options(data, names, runs=tmp_path), said.append) == NOTHING_TO_MEASURE
    assert ["no folder" in said[0], "holds no folder" in said[1], "locomo" in said[2]] == [True] * 3
    write_scifact(tmp_path / "scifact")
    corpus = tmp_path / "scifact" / "corpus.jsonl.gz"
    for content in (b"not gzip", corpus.read_bytes()[:-10], gzip.compress(b"[1]\n"), gzip.compress(b"{}\n")):
        corpus.write_bytes(content)
        assert run_suite("retrieval", Options(tmp_path, runs=tmp_path), said.append) == NOTHING_TO_MEASURE
        assert "cannot be read as scifact" in said[-1]


def test_suites_are_loaded_without_what_is_in_a_server() -> None:
    inside = ["tools.app", "tools.catalogue", "tools.records.storing", "stores.vectors", "stores.lexical",
              "stores.graph", "stores.indexer", "evals.bench"]  # fmt: skip
    code = f"import sys, evals.suites; print(*(name for name in {inside} if name in sys.modules))"
    here = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == ""
