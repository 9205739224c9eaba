"""Remote embedders against a real server: requests, checks of the answer, retries, failures, secrets."""

import logging
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from stores.embedding import Embedder, EmbeddingFailed, EmbeddingSpec, build_embedder
from stores.errors import InvalidSetting, Unavailable
from tests.stores.embedding.servers import Reply, Server, openai, running, vector

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[Server]:
    with running(openai) as server:
        yield server


def spec_for(server: Server, **changes: object) -> EmbeddingSpec:
    spec = EmbeddingSpec("openai", model="small", base_url=server.url, api_key=KEY, timeout_s=5, max_retries=2)
    return replace(spec, **changes)  # type: ignore[arg-type]


def opened(spec: EmbeddingSpec) -> Embedder:
    embedder = build_embedder(spec)
    assert embedder is not None
    return embedder


def unit(text: str) -> np.ndarray:
    values = np.array(vector(text))
    return values / np.linalg.norm(values)


def refused(spec: EmbeddingSpec) -> EmbeddingFailed:
    embedder = opened(spec)
    with pytest.raises(EmbeddingFailed) as failure:
        embedder.embed_documents(["a", "b"])
    embedder.close()
    assert isinstance(failure.value, Unavailable)
    assert spec.base_url
    assert spec.base_url.removeprefix("http://") in failure.value.message
    assert "'small'" in failure.value.message
    assert KEY not in failure.value.message + failure.value.remediation + repr(failure.value.details)
    return failure.value


def test_openai_vectors_are_in_order_and_of_unit_length(server: Server) -> None:
    embedder = opened(spec_for(server))
    vectors = embedder.embed_documents(["one", "two", "three"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [unit("one"), unit("two"), unit("three")], atol=1e-6)
    assert server.paths == ["/v1/embeddings"]
    assert server.requests == [{"model": "small", "input": ["one", "two", "three"]}]
    assert server.authorizations == [f"Bearer {KEY}"]


def test_ollama_is_asked_likewise_and_needs_no_key(server: Server) -> None:
    embedder = opened(spec_for(server, provider="ollama", api_key=None, dimension=4))
    np.testing.assert_allclose(embedder.embed_query("hello"), unit("hello"), atol=1e-6)
    assert server.paths == ["/v1/embeddings"]
    assert server.requests == [{"model": "small", "input": ["hello"], "dimensions": 4}]
    assert server.authorizations == [None]
    assert embedder.model == "ollama:small/4"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("", "/v1/embeddings"), ("/", "/v1/embeddings"), ("/v1/", "/v1/embeddings"), ("/a/v3", "/a/v3/embeddings")],
    ids=["bare", "slash", "v1", "own"],
)
def test_the_base_url_may_have_a_path(server: Server, path: str, expected: str) -> None:
    opened(spec_for(server, base_url=server.url + path)).embed_query("x")
    assert server.paths == [expected]


def test_the_dimension_is_asked_of_the_server_once(server: Server) -> None:
    embedder = opened(spec_for(server))
    assert (embedder.dimension, embedder.dimension) == (4, 4)
    assert len(server.requests) == 1
    assert embedder.embed_documents([]).shape == (0, 4)


@pytest.mark.parametrize(
    ("texts", "batches"),
    [
        ([f"text {number}" for number in range(386)], [2, 128, 128, 128]),
        ([f"{number} " + "x" * 4_000 for number in range(100)], [2, 49, 49]),
    ],
    ids=["by number", "by size"],
)
def test_texts_go_in_batches_of_128_or_fewer_long_ones_at_once(
    server: Server, texts: list[str], batches: list[int]
) -> None:
    together = threading.Barrier(len(batches), timeout=10)

    def wait_for_the_others(request: dict[str, object]) -> Reply:
        together.wait()
        return openai(request)

    server.usual = wait_for_the_others
    vectors = opened(spec_for(server)).embed_documents(texts)
    assert sorted(len(request["input"]) for request in server.requests) == batches
    np.testing.assert_allclose(vectors, [unit(text) for text in texts], atol=1e-6)


def test_a_server_gets_as_many_requests_at_a_time_as_it_may(server: Server) -> None:
    one_by_one = threading.Lock()

    def answer_alone(request: dict[str, object]) -> Reply:
        assert one_by_one.acquire(blocking=False)
        time.sleep(0.02)
        one_by_one.release()
        return openai(request)

    server.usual = answer_alone
    spec = spec_for(server, requests=1)
    assert spec.at_once == 128
    assert len(opened(spec).embed_documents([f"text {number}" for number in range(400)])) == 400


def test_empty_overlong_and_broken_texts_are_sent_in_a_form_that_servers_take(server: Server) -> None:
    opened(spec_for(server)).embed_documents(["", "x" * 50_000, "a\ud800b"])
    (request,) = server.requests
    assert request["input"] == [" ", "x" * 4064, "a?b"]


def test_too_many_requests_are_repeated_after_the_time_the_server_asks_for(server: Server) -> None:
    server.first = [Reply.json({"error": "slow down"}, 429, Retry_After="1")]
    started = time.monotonic()
    opened(spec_for(server)).embed_documents(["x"])
    assert 1 <= time.monotonic() - started < 4
    assert len(server.requests) == 2


def test_a_server_error_is_retried_and_success_follows(server: Server) -> None:
    server.first = [Reply(500), Reply(503, headers={"Retry-After": "soon"})]
    assert opened(spec_for(server)).embed_documents(["x"]).shape == (1, 4)
    assert len(server.requests) == 3


def test_retries_end(server: Server) -> None:
    server.first = [Reply.json({"error": {"message": "out of\n memory"}}, 500, Retry_After="0")] * 5
    error = refused(spec_for(server))
    assert "HTTP 500: out of memory (3 tries)" in error.message
    assert len(server.requests) == 3


def test_a_query_does_not_wait_for_longer_than_one_time_out(server: Server) -> None:
    server.first = [Reply(429, headers={"Retry-After": "30"})]
    embedder = opened(spec_for(server))
    with pytest.raises(EmbeddingFailed, match="HTTP 429"):
        embedder.embed_query("x")
    assert len(server.requests) == 1


@pytest.mark.parametrize("asked", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"], ids=["seconds", "date"])
def test_a_wait_of_an_hour_is_reported_instead_of_waited_for(server: Server, asked: str) -> None:
    server.first = [Reply(429, headers={"Retry-After": asked})]
    assert "HTTP 429" in refused(spec_for(server)).message


def test_a_silent_server_times_out(server: Server) -> None:
    silence = threading.Event()
    server.first = [Reply(wait=silence)]
    error = refused(spec_for(server, timeout_s=0.2, max_retries=0))
    silence.set()
    assert "no answer within 0.2 s" in error.message
    assert "ENGRAIN_EMBEDDING_TIMEOUT_S" in error.remediation


def test_a_server_that_trickles_times_out_too(server: Server) -> None:
    server.first = [Reply(body=b" " * 10_000, trickle=True)]
    started = time.monotonic()
    assert "no answer within 0.3 s" in refused(spec_for(server, timeout_s=0.3, max_retries=0)).message
    assert time.monotonic() - started < 3


def test_a_dead_port_is_named_with_a_way_out() -> None:
    with socket.socket() as placeholder:
        placeholder.bind(("127.0.0.1", 0))
        port = placeholder.getsockname()[1]
    error = refused(EmbeddingSpec("openai", model="small", base_url=f"http://127.0.0.1:{port}", max_retries=1))
    assert "no connection (ConnectError" in error.message
    assert "(2 tries)" in error.message
    assert "ENGRAIN_EMBEDDING_BASE_URL" in error.remediation


WRONG = {
    "garbage": (b"<html>hello</html>", "not JSON"),
    "other shape": (b'{"result": []}', "another shape"),
    "data is no list": (b'{"data": {"a": 1}}', "another shape"),
    "twice": (b'{"data": [{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}', "another shape"),
    "gap": (b'{"data": [{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}', "another shape"),
    "too few": (b'{"data": [{"index":0,"embedding":[1,2,3,4]}]}', r"2 texts got vectors of shape (1, 4)"),
    "ragged": (b'{"data": [{"embedding":[1,2,3,4]},{"embedding":[1]}]}', "another shape"),
    "null": (b'{"data": [{"embedding":[null]},{"embedding":[1]}]}', "not finite"),
    "nan": (b'{"data": [{"embedding":[NaN]},{"embedding":[1]}]}', "not finite"),
    "zeros": (b'{"data": [{"embedding":[0, 0]},{"embedding":[1, 1]}]}', "no direction"),
    "deep": (b'{"data": ' + b"[" * 200_000, "not JSON"),
}


@pytest.mark.parametrize(("body", "complaint"), WRONG.values(), ids=WRONG)
def test_a_wrong_answer_is_refused_at_once(server: Server, body: bytes, complaint: str) -> None:
    server.first = [Reply(body=body)]
    assert complaint in refused(spec_for(server)).message
    assert len(server.requests) == 1


def test_another_dimension_than_the_set_one_is_refused(server: Server) -> None:
    error = refused(spec_for(server, dimension=8))
    assert "vectors of 4 numbers where 8 were expected" in error.message
    assert "ENGRAIN_EMBEDDING_DIMENSION to 4" in error.remediation
    assert server.requests[0]["dimensions"] == 8


def test_a_dimension_that_changes_is_refused(server: Server) -> None:
    embedder = opened(spec_for(server))
    embedder.embed_query("first")
    server.first = [Reply.json({"data": [{"index": 0, "embedding": [1, 2]}]})]
    with pytest.raises(EmbeddingFailed, match="vectors of 2 numbers where 4"):
        embedder.embed_query("second")


def test_an_unknown_model_is_not_retried_and_the_way_out_is_named(server: Server) -> None:
    server.first = [Reply.json({"error": 'model "small" not found, try pulling it first'}, 404)]
    error = refused(spec_for(server, provider="ollama"))
    assert 'model "small" not found' in error.message
    assert "ollama pull small" in error.remediation
    assert len(server.requests) == 1


def test_redirects_are_not_followed(server: Server) -> None:
    server.first = [Reply(307, headers={"Location": f"{server.url}/elsewhere"})]
    assert "HTTP 307" in refused(spec_for(server)).message
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 418, 500])
def test_the_key_appears_nowhere(server: Server, status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.first = [Reply.json({"error": {"message": f"Incorrect API key provided: {KEY}"}}, status)]
    spec = spec_for(server, max_retries=0)
    embedder = opened(spec)
    with pytest.raises(EmbeddingFailed) as failure:
        embedder.embed_documents(["a"])
    shown = traceback.StackSummary.extract(traceback.walk_tb(failure.tb.tb_next), capture_locals=True).format()
    assert failure.value.__suppress_context__ or failure.value.__context__ is None
    assert KEY not in f"{''.join(shown)}{caplog.text}{spec!r}{embedder!r}{vars(failure.value)}"


def test_closing_ends_a_wait_for_the_next_try(server: Server) -> None:
    server.first = [Reply(503, headers={"Retry-After": "50"})]
    embedder = opened(spec_for(server))
    failures: list[EmbeddingFailed] = []

    def embed() -> None:
        try:
            embedder.embed_documents(["x"])
        except EmbeddingFailed as error:
            failures.append(error)

    waiting = threading.Thread(target=embed)
    waiting.start()
    deadline = time.monotonic() + 5
    while server.first and time.monotonic() < deadline:
        waiting.join(0.01)
    embedder.close()
    waiting.join(5)
    assert [error.message for error in failures if "closed" in error.message]


def test_a_closed_embedder_says_so(server: Server) -> None:
    embedder = opened(spec_for(server))
    embedder.close()
    with pytest.raises(EmbeddingFailed, match="closed"):
        embedder.embed_query("x")


def test_long_texts_are_split_for_a_server_of_unknown_tokenizer(server: Server) -> None:
    text = "words and words. " * 200 + "QUJD" * 2_000
    passages = opened(spec_for(server)).split(text)
    assert "".join(text[p.start : p.end] for p in passages) == text
    assert max(p.end - p.start for p in passages) <= 254 * 16
    assert server.requests == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model": None}, "ENGRAIN_EMBEDDING_MODEL"), ({"base_url": "localhost:8080"}, "is not a URL"),
        ({"base_url": "ftp://localhost"}, "is not a URL"), ({"base_url": "http://localhost:port"}, "is not a URL"),
        ({"base_url": f"http://user:{KEY}@localhost"}, "ENGRAIN_EMBEDDING_API_KEY"),
        ({"base_url": f"http://localhost/?key={KEY}"}, "ENGRAIN_EMBEDDING_API_KEY"),
        ({"api_key": f"{KEY}\nX-Other: 1"}, "copy it again"), ({"api_key": f"{KEY}é"}, "copy it again"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_right_stops_the_start(
    server: Server, changes: dict[str, str | None], complaint: str
) -> None:
    with pytest.raises(InvalidSetting, match=complaint) as failure:
        build_embedder(spec_for(server, **changes))
    assert KEY not in str(failure.value)


def test_without_a_provider_there_is_no_embedder() -> None:
    assert build_embedder(EmbeddingSpec("none")) is None
