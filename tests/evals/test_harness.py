"""The harness against a real server: loaded in order, asked by every arm, kept as it comes, and resumed."""

import gzip
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Barrier

import duckdb
import pytest

from evals.client import Client
from evals.datasets.collection import Text
from evals.harness import prepare
from evals.harness.arms import ARMS, Answer, Arm
from evals.harness.loading import batches
from evals.harness.server import served
from evals.machine import facts, model_digest
from evals.metrics import MEASURES
from evals.options import Options
from evals.results import Case
from evals.runs import Archive, Journal, RunRecord, new_record
from evals.suites import INTERRUPTED, NOTHING_TO_MEASURE, run_suite
from tests.evals.sets import QUESTIONS, own_lines, write_lines, write_own, write_scifact
from tools.entity_models import BULK_LIMIT

WORDS = {"ENGRAIN_EMBEDDING_PROVIDER": "none"}
"""Without a model a server starts and indexes faster; what is tested here needs none."""


@pytest.fixture(autouse=True)
def _one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever edits a file while tests run does not change what an interrupted run was measured with."""
    monkeypatch.setattr("evals.runs.record.commit", lambda: "abc")


def options(tmp_path: Path, **changes: object) -> Options:
    given: dict[str, object] = {"sets": [str(write_own(tmp_path))], "runs": tmp_path / "runs", "server": WORDS}
    return Options(**{**given, **changes})  # type: ignore[arg-type]


WAYS = list(ARMS)


def test_the_cores_of_a_run_are_those_that_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores.processor.processors", lambda: 7)
    assert facts()["cores"] == 7


@pytest.mark.slow
def test_memories_and_documents_are_asked_by_every_arm_and_kept(tmp_path: Path) -> None:
    write_scifact(tmp_path / "data" / "scifact")
    said: list[str] = []
    wanted = options(
        tmp_path, data=tmp_path / "data", sets=["scifact", str(write_own(tmp_path))], arms=WAYS, server={},
        json_file=tmp_path / "r.json", markdown_file=tmp_path / "r.md", html_file=tmp_path / "r.html",
    )  # fmt: skip
    assert run_suite("retrieval", wanted, said.append) == 0, said
    stored = Archive(tmp_path / "runs").read("latest")
    counted = Counter((case.set, case.arm) for case in stored.cases)
    # Documents have no arm that asks for raw memories through search: that is how they are asked anyway.
    assert counted == Counter(
        {("scifact", arm): len(QUESTIONS) for arm in WAYS if arm != "search"} | {("talks", arm): 5 for arm in WAYS}
    )
    for case in stored.cases:
        assert set(case.values) == set(MEASURES)
        assert (case.took_ms is None) == (case.arm in ("naive", "dense"))
        assert case.tokens
        # Everything that can be found is a text of the set, of its own haystack alone.
        prefix = case.cluster or ""
        assert all(found.startswith(prefix) for found in case.found)
    # What is stored once was stored by the server of the first arms.
    for kept in stored.parts:
        assert (kept.loading_s is None) == bool(ARMS[kept.arm].environ)
    fast = [case for case in stored.cases if case.arm == "fast"]
    assert all(case.values["recall@10"] == 1 for case in fast)
    assert stored.record is not None
    assert stored.record.finished_at is not None
    assert set(stored.record.data) == {"scifact", "talks"}
    document = json.loads((tmp_path / "r.json").read_text())
    part = next(part for part in document["parts"] if (part["set"], part["arm"]) == ("talks", "fast"))
    headline = next(each for each in part["figures"] if (each["category"], each["measure"]) == ("all", "recall@10"))
    assert (headline["interval"]["n"], headline["clusters"], part["verdict"]) == (4, 2, "passed")
    assert part["latency_ms"]["n"] == 5
    assert part["resident_mb"] > 50
    assert {each["arm"] for each in document["parts"] if each["queries_per_s"] is None} == {"naive", "dense"}
    report = (tmp_path / "r.md").read_text()
    assert "| talks | fast | turn | 4 | 8 | recall@10 |" in report
    assert report.count("Read from corpus.jsonl.gz and queries-dev.jsonl and qrels-dev.tsv. fast: as any client") == 1
    with duckdb.connect(str(tmp_path / "runs" / "runs.duckdb")) as database:
        assert database.execute("SELECT count(*) FROM cases").fetchall() == [(len(stored.cases),)]
        asked = database.execute("SELECT suite, commit FROM runs").fetchall()
        assert asked == [("retrieval", stored.record.commit)]
    assert not list((tmp_path / "runs").rglob("server*"))


def test_what_nothing_answers_is_asked_after_the_rest_by_arms_whose_scores_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = {"kind": "question", "haystack": "north", "answers": [], "cluster": "north"}
    beside = [
        {**nothing, "id": "mars", "text": "Who walked on Mars?", "category": "off topic"},
        {**nothing, "id": "disk", "text": "Which disk was full?", "category": "said before"},
    ]
    file = write_lines(tmp_path / "more.jsonl", [*own_lines(), *beside])
    fast, asked = ARMS["fast"], list[str]()
    plain = fast.doors["recall"]

    def ask(client: Client, place: object, collection: object, query: str) -> Answer:
        asked.append(query)
        if asked.count("Who walked on Mars?") == 1 and query.startswith("Who walked"):
            raise KeyboardInterrupt
        return plain(client, place, collection, query)  # type: ignore[arg-type]

    monkeypatch.setitem(ARMS, "fast", Arm("fast", fast.summary, {"recall": ask}))  # type: ignore[misc]
    said: list[str] = []
    wanted = options(
        tmp_path, sets=[str(file)], arms=["fast", "naive"], html_file=tmp_path / "r.html",
        markdown_file=tmp_path / "r.md",
    )  # fmt: skip
    # Between the halves it is interrupted: what was answered is still there to be held against.
    assert run_suite("retrieval", wanted, said.append) == INTERRUPTED
    assert run_suite("retrieval", wanted, said.append) == 0, said
    stored = Archive(tmp_path / "runs").read("latest")
    counted = Counter((case.set, case.arm) for case in stored.cases)
    assert counted == {("talks", "fast"): 5, ("talks", "naive"): 5, ("talks unanswered", "fast"): 2}
    found = {case.id: case for case in stored.cases if case.set == "talks unanswered"}
    assert found["mars"].score == 0
    assert found["mars"].values == {"AUROC": 1.0, "below@0.3": 1.0}
    # Of four that count, two are the same question and score the same.
    answered = [
        case.score or 0 for case in stored.cases if (case.set, case.arm) == ("talks", "fast") and not case.apart
    ]
    same = found["disk"].score or 0
    assert found["disk"].values["AUROC"] == (sum(each > same for each in answered) + answered.count(same) / 2) / 4 < 1
    assert answered.count(same) == 2
    assert {case.score for case in stored.cases if case.arm == "naive"} == {None}
    assert stored.record is not None
    assert set(stored.record.data) == {"talks", "talks unanswered"}
    for report in ("r.html", "r.md"):
        assert f"nothing answers it, best score .{round(1000 * same):03d}" in (tmp_path / report).read_text()


def test_an_interrupted_run_goes_on_with_the_same_command_and_asks_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    fast = ARMS["fast"]
    plain = fast.doors["recall"]

    def ask(client: Client, place: object, collection: object, query: str) -> Answer:
        if len(asked) == 2:
            asked.append("interrupted")
            raise KeyboardInterrupt
        if query != "hello":
            asked.append(query)
        return plain(client, place, collection, query)  # type: ignore[arg-type]

    counting = Arm("fast", fast.summary, {"recall": ask})
    monkeypatch.setitem(ARMS, "fast", counting)  # type: ignore[misc]
    said: list[str] = []
    assert run_suite("retrieval", options(tmp_path), said.append) == INTERRUPTED
    assert "2 answers are kept" in said[-1]
    assert run_suite("retrieval", options(tmp_path), said.append) == 0, said
    assert any("Going on" in line for line in said)
    asked.remove("interrupted")
    assert len(asked) == 5
    (record,) = Archive(tmp_path / "runs").records()
    assert record.finished_at is not None
    stored = Archive(tmp_path / "runs").read(record.id)
    assert len(stored.cases) == 5
    (part,) = stored.parts
    assert part.asking_s is not None
    assert sum(case.took_ms or 0 for case in stored.cases) / 1000 <= part.asking_s
    assert part.loading_s is not None


def test_a_run_that_was_killed_has_the_time_of_all_its_answers(tmp_path: Path) -> None:
    record = new_record("retrieval", {"name": ""}, {}, {})
    journal = Journal.begin(tmp_path, record)
    cases = [Case("talks", "fast", "turn", f"q{number}", {"recall@10": 1.0}) for number in range(3)]
    for case in cases[:2]:
        journal.add(case, 2.0)
    # What a kill leaves: nothing is written after the last answer.
    journal.close()
    again = Journal.begin(tmp_path, record)
    again.add(cases[2], 2.0)
    assert again.asking_s("talks", "fast") == 6.0
    assert again.asking_s("talks", "naive") is None
    again.add(replace(cases[0], arm="naive"))
    assert again.asking_s("talks", "naive") is None
    again.close()


def test_where_loading_was_interrupted_its_time_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr("evals.harness.loading.until_whole", interrupt)
        assert run_suite("retrieval", options(tmp_path), said.append) == INTERRUPTED
    assert "0 answers are kept" in said[-1]
    wanted = options(tmp_path, markdown_file=tmp_path / "r.md")
    assert run_suite("retrieval", wanted, said.append) == 0, said
    assert Archive(tmp_path / "runs").read("latest").parts[0].loading_s is None


def test_a_run_that_is_stopped_before_anything_was_stored_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr("evals.harness.loading.opened", interrupt)
    assert run_suite("retrieval", options(tmp_path), said.append) == INTERRUPTED
    assert "nothing is kept" in said[-1]
    assert not list((tmp_path / "runs").iterdir())


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_run_says_which_model_embedded_whatever_is_in_the_package(tmp_path: Path) -> None:
    packaged = model_digest()
    remote = {"ENGRAIN_EMBEDDING_PROVIDER": "openai", "ENGRAIN_EMBEDDING_MODEL": "m"}
    for server, model in (({}, packaged), (WORDS, "none"), (remote, "m (openai)")):
        assert new_record("history", {}, {"server": server}, {}).model == model
        subject = prepare(options(tmp_path, server=server)).subject
        assert subject is not None
        assert subject.model == model
    for arms, model in (
        (["lexical"], "none"),
        (["fast", "naive", "lexical"], f"{packaged}: fast, naive; none: lexical"),
    ):
        subject = prepare(options(tmp_path, server={}, arms=arms)).subject
        assert subject is not None
        assert subject.model == model


def test_questions_are_asked_at_once_and_answered_as_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, together, numbers = ARMS["fast"], Barrier(2), count()
    plain, said = fast.doors["recall"], list[str]()
    assert run_suite("retrieval", options(tmp_path), said.append) == 0, said

    def ask(client: Client, place: object, collection: object, query: str) -> Answer:
        if query != "hello" and next(numbers) < 2:
            together.wait(30)
        return plain(client, place, collection, query)  # type: ignore[arg-type]

    monkeypatch.setitem(ARMS, "fast", Arm("fast", fast.summary, {"recall": ask}))  # type: ignore[misc]
    assert run_suite("retrieval", options(tmp_path, concurrency=2, name="two"), said.append) == 0, said
    archive = Archive(tmp_path / "runs")
    alone, beside = ({case.id: case.found for case in archive.read(name).cases} for name in ("latest~1", "latest"))
    assert alone == beside
    assert len(alone) == 5


def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    """Begin a run that is interrupted after its first answer."""
    answers = iter([Answer((), (), 1.0), Answer((), (), 1.0), Answer((), (), 1.0)])

    def interrupt(*_: object) -> Answer:
        if (answer := next(answers, None)) is None:
            raise KeyboardInterrupt
        return answer

    with monkeypatch.context() as patch:
        patch.setitem(ARMS, "fast", Arm("fast", "", {"recall": interrupt}))  # type: ignore[misc]
        assert run_suite("retrieval", options(tmp_path), lambda _: None) == INTERRUPTED
    return Archive(tmp_path / "runs").records()[0]


def test_an_interrupted_run_of_another_configuration_is_refused_with_the_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = interrupted(tmp_path, monkeypatch)
    said: list[str] = []
    assert run_suite("retrieval", options(tmp_path, concurrency=2), said.append) == NOTHING_TO_MEASURE
    assert earlier.id in said[-1]
    assert "'concurrency': 1" in said[-1]
    assert "--afresh" in said[-1]
    assert "--name" in said[-1]
    assert run_suite("retrieval", options(tmp_path, concurrency=2, name="two"), said.append) == 0
    assert run_suite("retrieval", options(tmp_path, concurrency=2, afresh=True), said.append) == 0
    assert earlier.id not in {record.id for record in Archive(tmp_path / "runs").records()}


def test_a_server_elsewhere_is_asked_with_a_key_in_a_project_of_its_own(tmp_path: Path) -> None:
    with served(tmp_path / "elsewhere", WORDS, None) as target, Client(target.address) as client:
        account = {"email": "ada@localhost.test", "password": "long-enough", "name": "Ada"}
        client.present(client.post("/api/auth/local/signup", account)["access_token"])
        key = client.post("/api/auth/api-keys", {"name": "eval", "scopes": ["api:read", "api:write"]})
        said: list[str] = []
        wanted = options(tmp_path, url=target.address, key=key["api_key"], server={})
        assert run_suite("retrieval", wanted, said.append) == 0, said
        stored = Archive(tmp_path / "runs").read("latest")
        assert {case.id: case.found for case in stored.cases}["south-printer"] == ("south-3", "south-2")
        assert stored.parts[0].resident_mb is None
        # Nothing of it is among the caller's own memories.
        assert client.post("/api/memory/raw/recall", {"query": "printer"})["memories"] == []


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"sets": ["trec"]}, "no data set trec"),
        ({"sets": ["locomo"], "data": Path("/nowhere")}, "no folder"),
        ({"arms": ["slow"]}, "no arm slow"),
        ({"arms": ["fast", "lexical"], "url": "http://127.0.0.1:1"}, "ENGRAIN_EMBEDDING_PROVIDER=none"),
        ({"arms": []}, "it names no arm; leave it out"),
        ({"url": "http://127.0.0.1:1"}, "its own settings, not ENGRAIN_EMBEDDING_PROVIDER"),
        ({"url": "http://127.0.0.1:1", "server": {}}, "got no answer"),
    ],
)
def test_what_cannot_be_measured_is_a_sentence_and_exit_code_2(
    tmp_path: Path, changes: dict[str, object], word: str
) -> None:
    said: list[str] = []
    assert run_suite("retrieval", options(tmp_path, **changes), said.append) == NOTHING_TO_MEASURE
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
    corpus.write_bytes(gzip.compress(b""))
    assert run_suite("retrieval", Options(tmp_path, runs=tmp_path), said.append) == NOTHING_TO_MEASURE
    assert "holds 0 texts" in said[-1]


def test_what_no_server_takes_is_said_before_one_is_started(tmp_path: Path) -> None:
    write_scifact(tmp_path / "scifact")
    corpus, queries = tmp_path / "scifact" / "corpus.jsonl.gz", tmp_path / "scifact" / "queries-dev.jsonl"
    (tmp_path / "scifact" / "qrels-dev.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    good, query = {"_id": "1", "title": "Ones", "text": "one"}, {"_id": "q", "text": "one?"}
    for line, asked, word in (
        ({**good, "text": "o\0ne"}, query, "the text '1' holds the character U+0000"),
        ({**good, "title": "O\0nes"}, query, "the text '1' holds the character U+0000"),
        (good, {**query, "text": "one\0?"}, "the question 'q' holds the character U+0000"),
    ):
        write_lines(corpus, [line])
        write_lines(queries, [asked])
        said: list[str] = []
        assert run_suite("retrieval", Options(tmp_path, runs=tmp_path / "runs"), said.append) == NOTHING_TO_MEASURE
        assert word in said[-1]
    corpus.write_bytes(gzip.compress(b'{"_id": "1", "title": "Ones", "text": "o\\ud800ne"}\n'))
    assert run_suite("retrieval", Options(tmp_path, runs=tmp_path / "runs"), said.append) == NOTHING_TO_MEASURE
    assert "the text '1' holds a lone surrogate" in said[-1]


def test_suites_are_loaded_without_what_is_in_a_server() -> None:
    inside = ["tools.app", "tools.catalogue", "tools.storing", "stores.vectors", "stores.lexical", "stores.graph",
              "stores.indexer", "evals.bench"]  # fmt: skip
    code = f"import sys, evals.suites; print(*(name for name in {inside} if name in sys.modules))"
    here = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == ""


def test_texts_are_sent_as_many_at_once_as_a_server_takes() -> None:
    # A character of these is six bytes as it is sent.
    texts = [Text(str(number), "n", "文" * 40_000, "h") for number in range(40)]
    sizes = [len(batch) for batch in batches(texts)]
    assert sizes == [17, 17, 6]
    assert [text for batch in batches(texts) for text in batch] == texts
    short = [Text(str(number), "n", "word", "h") for number in range(BULK_LIMIT + 1)]
    assert [len(batch) for batch in batches(short)] == [BULK_LIMIT, 1]
    assert [*batches([])] == []
