"""Passages per second with an embedding model behind a network."""

import json
import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from evals.bench.measurement import Figure, Measurement, Target
from evals.bench.stages import bodies, signed_up
from stores.embedding import EmbeddingSpec
from stores.embedding.embedder import BATCH
from stores.embedding.remote import RemoteEmbedder

LATENCY_S = 0.05
_DIMENSION = 384


def measure_remote_model(measurement: Measurement, data: Path) -> Iterator[Figure]:
    """Time the model's client alone, and a server that uses it for every index."""
    texts = measurement.texts[: measurement.times(6_000)]
    measurement.say(f"{len(texts)} entities with a remote model …")
    with _stand_in() as address:
        alone = _passages_per_s(address, [text.searchable for text in texts])
        settings = {
            "ENGRAIN_EMBEDDING_PROVIDER": "openai", "ENGRAIN_EMBEDDING_MODEL": "stand-in",
            "ENGRAIN_EMBEDDING_BASE_URL": address, "ENGRAIN_LATE_INTERACTION": "false",
        }  # fmt: skip
        with signed_up(measurement, data, settings) as one:
            start = time.perf_counter()
            for body in bodies(texts):
                one.post("/api/entities/bulk", body)
            one.until_indexed()
            indexed = len(texts) / (time.perf_counter() - start)
    note = f"the model's client alone; a server has {indexed:.0f} records/s in every index"
    target = Target(1_500, 3_000, more_is_better=True)
    yield Figure("remote model, 50 ms per request", "passages/s", alone, len(texts), target=target, note=note)


def _passages_per_s(address: str, given: Sequence[str]) -> float:
    spec = EmbeddingSpec("openai", "stand-in", address)
    embedder = RemoteEmbedder(spec)
    passages = [text[each.start : each.end] for text in given for each in embedder.split(text)]
    start = time.perf_counter()
    for first in range(0, len(passages), spec.at_once):
        embedder.embed_documents(passages[first : first + spec.at_once])
    rate = len(passages) / (time.perf_counter() - start)
    embedder.close()
    return rate


class _Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    rows = tuple(
        json.dumps({"index": at, "embedding": [math.sin(1 + at * step) for step in range(_DIMENSION)]})
        for at in range(BATCH)
    )

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        body = f'{{"data":[{",".join(self.rows[: len(asked)])}]}}'.encode()
        time.sleep(LATENCY_S)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def _stand_in() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
