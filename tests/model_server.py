"""A server that speaks the protocols of language models' makers, and misbehaves on demand. No model is in it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY_HEADERS = ("Authorization", "x-api-key", "x-goog-api-key")
Answer = Callable[[dict[str, Any]], str]


@dataclass
class ModelServer:
    address: str = ""
    answer: Answer = field(default=lambda _: json.dumps({"items": []}))
    """The text of the model's message, given the request."""
    status: int = 200
    delay_s: float = 0.0
    body: bytes | None = None
    """The whole answer, instead of one that holds the message."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def proposes(self, *items: dict[str, Any]) -> None:
        self.answer = lambda _: json.dumps({"items": list(items)})

    @property
    def said(self) -> str:
        return json.dumps(self.requests[-1]["messages"], ensure_ascii=False)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    state = ModelServer()
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append(asked)
            state.keys.append(next((self.headers[name] for name in KEY_HEADERS if name in self.headers), ""))
            stopped.wait(state.delay_s)
            body = state.body
            if body is None:
                body = json.dumps(_protocol(self.path)(asked, state.answer(asked))).encode()
            self.send_response(state.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield state
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def told(asked: dict[str, Any]) -> tuple[str, str]:
    if "contents" in asked:
        return _joined(asked.get("systemInstruction", {}).get("parts", [])), _joined(asked["contents"][-1]["parts"])
    messages = asked["messages"]
    system = asked.get("system") or "".join(
        _joined(each["content"]) for each in messages if each["role"] in ("system", "developer")
    )
    return _joined(system), _joined(messages[-1]["content"])


def _joined(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _protocol(path: str) -> Callable[[dict[str, Any], str], dict[str, Any]]:
    if path.endswith("/messages"):
        return _message
    return _content if "generateContent" in path else _completion


def _message(asked: dict[str, Any], text: str) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "call", "name": asked["tools"][0]["name"], "input": json.loads(text)}
    return {
        "id": "message", "type": "message", "role": "assistant", "model": asked["model"], "content": [call],
        "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def _content(_: dict[str, Any], text: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "model",
    }


def _completion(asked: dict[str, Any], text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "completion",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": asked.get("model", "model"),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
