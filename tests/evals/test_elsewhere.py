"""A server that runs already: what is kept of it, and how long a run waits for it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest

from evals.client import Client
from evals.commands import show_runs
from evals.harness.arms import ARMS, Answer, Arm
from evals.harness.places import LOGIN, opened
from evals.harness.server import Target, served
from evals.options import Options
from evals.runs import Archive
from evals.suites import INTERRUPTED, NOTHING_TO_MEASURE, run_suite
from stores.errors import EngrainError
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
def inhabited(folder: Path, environ: Mapping[str, str]) -> Iterator[Target]:
    """A server of somebody who has an account there."""
    with served(folder, environ, None) as target, Client(target.address) as client:
        client.signed_up("grace")
        yield target


@contextmanager
def embedding_server(folder: Path) -> Iterator[str]:
    """A server whose model refuses texts that hold a word: their index is behind for good."""
    with running(refusing_poison) as model, inhabited(folder, settings_of(model.url)) as target:
        yield target.address


def test_what_is_kept_of_a_run_is_what_the_server_says_and_nothing_of_this_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals.runs.record.commit", lambda: "abc")
    monkeypatch.setattr("evals.runs.record.facts", lambda: pytest.fail("This machine was asked."))
    monkeypatch.setattr("evals.runs.record.model_digest", lambda: pytest.fail("This checkout was asked."))
    said: list[str] = []
    with inhabited(tmp_path / "elsewhere", WORDS) as target:
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
        "aims": {"talks": {"measure": "recall@10", "floor": 0.5, "goal": None}},
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
    with inhabited(tmp_path / "elsewhere", WORDS) as target, Client(target.address) as client:
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


def kept_posts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """The paths and the answers of what clients post from now on."""
    posts: list[tuple[str, dict[str, Any]]] = []
    post = Client.post

    def posted(client: Client, path: str, body: Any) -> dict[str, Any]:  # noqa: ANN401, RUF100 - whatever is posted
        answer = post(client, path, body)
        posts.append((path, answer))
        return answer

    monkeypatch.setattr(Client, "post", posted)
    return posts


def test_an_account_that_was_signed_up_signs_in_for_no_arm_and_its_token_is_nowhere_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with inhabited(tmp_path / "elsewhere", WORDS) as target:
        posts = kept_posts(monkeypatch)
        wanted = Options(
            sets=[str(write_own(tmp_path))], url=target.address, runs=tmp_path / "runs", arms=["fast", "search"]
        )
        monkeypatch.setitem(ARMS, "search", interrupted_after(ARMS["search"], 4))  # type: ignore[misc]
        assert run_suite("retrieval", wanted, said.append) == INTERRUPTED, said
    tokens = [answer["access_token"] for path, answer in posts if path == "/api/auth/local/signup"]
    assert len(tokens) == 2
    assert LOGIN not in [path for path, _ in posts]
    kept = [path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert kept
    assert not [token for token in tokens for content in kept if token.encode() in content]


def test_an_account_whose_token_is_refused_signs_in_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with inhabited(tmp_path / "elsewhere", WORDS) as target, Client(target.address) as client:
        place = opened(target, client, "")
        old = client.token
        end_sessions(client)
        posts = kept_posts(monkeypatch)
        assert client.get("/api/auth/me")["user"]["email"] == place.email
        place.enter(client, "")
        assert client.get("/api/auth/me")["user"]["email"] == place.email
        assert [path for path, _ in posts] == [LOGIN]
        assert client.token not in ("", old)
        with Client(target.address, old) as other, pytest.raises(EngrainError, match="answered 401"):
            other.get("/api/auth/me")


def end_sessions(client: Client) -> None:
    for session in client.get("/api/users/me/sessions")["sessions"]:
        client._send("DELETE", f"/api/users/me/sessions/{session['id']}", None)


def test_that_a_server_makes_a_run_wait_is_said_once_with_its_limit_and_the_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("evals.client.time.sleep", waited.append)
    refusal = {"error": "rate_limited", "message": "More than 5 tries in 60 seconds."}
    with running(lambda _: Reply.json({})) as server:
        server.first = [Reply.json(refusal, 429, Retry_After="42") for _ in range(6)]
        server.first.insert(0, Reply.json(refusal, 429, Retry_After="1"))

        def sign_in(_: int) -> None:
            with Client(server.url) as client:
                client.post(LOGIN, {})

        with ThreadPool(4) as pool:
            pool.map(sign_in, range(4))
    assert sorted(waited) == [2, *[43] * 6]
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert told[0].startswith(f"{server.url} lets nobody call {LOGIN} so often (More than 5 tries in 60 seconds): ")
    assert "ENGRAIN_RATE_LIMIT_ENABLED=false" in told[0]
