"""Passages per second with an embedding model behind a network."""

import json
import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from evals.bench.figures import Figure, Target
from evals.bench.measurement import Measurement
from evals.bench.stages import bench_server, bodies
from evals.bench.texts import Record
from evals.client import Client
from stores.embedding import EmbeddingSpec, build_embedder
from stores.errors import EngrainError

LATENCY_S = 0.05
_DIMENSION = 384


def measure_remote_model(measurement: Measurement, data: Path) -> None:
    """Time the model's client alone, and a server that uses it for every index."""
    texts = measurement.texts[: measurement.times(6_000)]
    measurement.say(f"{len(texts)} entities with a remote model …")
    with _stand_in() as address:
        alone = _passages_per_s(address, texts)
        remote = {"EMBEDDING_PROVIDER": "openai", "EMBEDDING_MODEL": "stand-in", "EMBEDDING_BASE_URL": address}
        settings = {f"ENGRAIN_{name}": value for name, value in {**remote, "LATE_INTERACTION": "false"}.items()}
        with bench_server(data, settings) as server, Client(server.address) as client, client.signed_up("it") as one:
            warm_up = len(texts) // 10
            _ingest(one, texts[:warm_up])
            indexed = len(texts[warm_up:]) / _ingest(one, texts[warm_up:])
    measurement.figures.append(
        Figure("remote model, 50 ms per request", "passages/s", alone, len(texts),
               target=Target(1_500, 2_000, more_is_better=True),
               note=f"the model's client alone; a server has {indexed:.0f} records/s in every index")
    )  # fmt: skip


def _ingest(client: Client, texts: Sequence[Record]) -> float:
    start = time.perf_counter()
    for body in bodies(texts):
        client.post("/api/entities/bulk", body)
    client.until_indexed()
    return time.perf_counter() - start


def _passages_per_s(address: str, texts: Sequence[Record]) -> float:
    spec = EmbeddingSpec("openai", "stand-in", address)
    embedder = build_embedder(spec)
    if embedder is None:
        raise EngrainError("There is no remote model.")
    embedder.split(texts[0].searchable)
    count, start = 0, time.perf_counter()
    for first in range(0, len(texts), spec.at_once):
        some = [text.searchable for text in texts[first : first + spec.at_once]]
        passages = [text[each.start : each.end] for text in some for each in embedder.split(text)]
        count += len(embedder.embed_documents(passages))
    embedder.close()
    return count / (time.perf_counter() - start)


class _Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    vectors = tuple(json.dumps([math.sin(at * step) for step in range(1, 1 + _DIMENSION)]) for at in range(1, 65))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        rows = (f'{{"index":{at},"embedding":{self.vectors[at % 64]}}}' for at in range(len(asked)))
        body = f'{{"data":[{",".join(rows)}]}}'.encode()
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
