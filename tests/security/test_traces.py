"""Whatever a member asks, no answer changes when another member keeps, changes and deletes what is private."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.people import Person, caught_up
from tests.security.harness import World

pytestmark = pytest.mark.anyio

RECORDS = (
    ("note", "Otter log", "The otter swims upstream in April."),
    ("decision", "Use Kuzu", "We decided to use Kuzu for the graph because it is embedded."),
    ("pattern", "retry", "def retry(n):\n    for i in range(n):\n        try:\n            return call()\n"),
    ("task", "Mow the meadow", "Mow the meadow in June."),
    ("error_pattern", "Timeout on start", "The server times out when the disk is full."),
)
SAID = ("We swim with the otter.", "The graph is in Kuzu.", "Tea is at four.", "Mow it in June.")
QUESTIONS = ("otter upstream xylograph", "why Kuzu graph", "how to retry a call", "meadow in June 2026", "tea")
NOTES = {
    "content": "Decision: we use Kuzu for the graph because it is embedded.\nRule: mow the meadow in June.\n"
    "Gotcha: the server times out when the disk is full, for a xylograph of tea as well.",
    "persist_source": False,
}
# Signing in, and the server's own state, of all organizations together.
ELSEWHERE = ("callback", "login", "device", "/api/health")
# What differs from one answer to the next, whoever wrote in between.
PASSING = {
    "message_key", "as_of", "context_id", "run_id", "generated_at", "last_used_at", "uptime_seconds", "request_id",
}  # fmt: skip
SCORE = re.compile(r"(?<=score )0\.\d\d")
Answers = dict[str, Any]


class Story:
    def __init__(self, world: World, ada: Person, bob: Person) -> None:
        self.world, self.ada, self.bob = world, ada, bob
        self.ids: list[str] = []
        self.project = ""

    async def write(self, path: str, **body: object) -> dict[str, Any]:
        written = await self.world.post(f"/api/{path}?sync=true", body, self.ada.token)
        assert written.is_success, written.text
        return dict(written.json())

    async def relate(self, source: str, target: str, name: str = "about") -> None:
        await self.write("relations", source_id=source, target_id=target, name=name, valid_at="2025-01-01T00:00:00Z")

    async def begin(self) -> None:
        self.project = (await self.write("entities", name="Harbour", content="Ships.", entity_type="project"))["id"]
        for kind, name, content in RECORDS:
            more = {"project_id": self.project} if kind == "task" else {}
            written = await self.write("entities", name=name, content=content, entity_type=kind, **more)
            self.ids.append(written["id"])
        for source, target in zip(self.ids, self.ids[1:], strict=False):
            await self.relate(source, target)
        await self.say("organization", 0)
        noted = await self.world.post("/api/context/reflect", NOTES | {"persist_review": True}, self.bob.token)
        assert noted.json()["total_candidates"] > 1, noted.text

    async def say(self, scope: str, first: int, **more: object) -> None:
        for place, text in enumerate(SAID):
            metadata = {"thread_id": "thread", "ordinal": 2 * place + first}
            await self.write("memory/raw", raw_content=text, memory_scope=scope, metadata=metadata, **more)

    async def keep(self, scope: str) -> None:
        kept = []
        for kind, name, content in RECORDS * 2:
            text, metadata = f"{content} A xylograph of tea. {content}", {"memory_scope": scope}
            written = await self.write("entities", name=name, content=text, entity_type=kind, metadata=metadata)
            kept.append(written["id"])
        for each in kept[:5]:
            await self.relate(each, self.ids[0])
            await self.relate(self.ids[1], each, "supersedes" if each == kept[0] else "about")
        await self.say(scope, 1)
        await self.say("private", 1, diary=True, agent_id="scout")
        await self.send("PATCH", f"/api/entities/{kept[1]}", {"content": "Otters drink tea."})
        await self.send("DELETE", f"/api/entities/{kept[2]}")
        await caught_up(self.ada)

    async def send(self, method: str, path: str, body: object = None) -> None:
        answer = await self.world.send(method, path, body, self.ada.token)
        assert answer.is_success, answer.text

    async def answers(self) -> Answers:
        await caught_up(self.ada)
        found: Answers = {}
        async for path in self._paths():
            found[path] = await self._answer("GET", path)
        for path, body in _asked(self.ids[0]):
            found[f"{path} {body}"] = await self._answer("POST", path, body)
        return found

    async def _paths(self) -> AsyncIterator[str]:
        document = (await self.world.send("GET", "/api/openapi.json")).json()
        places = {
            "entity_id": self.ids[0], "task_id": self.ids[3], "project_id": self.project, "prefix": self.ids[0][:9],
        }  # fmt: skip
        for path, methods in document["paths"].items():
            if "get" not in methods or not path.startswith("/api") or any(each in path for each in ELSEWHERE):
                continue
            try:
                place = path.format(**places)
            except KeyError:
                continue
            yield f"{place}?entity_id={self.ids[0]}" if path == "/api/relations" else place

    async def _answer(self, method: str, path: str, body: object = None) -> object:
        answer = await self.world.send(method, path, body, self.bob.token)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return {"status": answer.status_code, "body": answer.json() if is_json else None}


def _asked(record_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for question in QUESTIONS:
        yield "/api/search", {"query": question}
        yield "/api/search", {"query": question, "mode": "naive"}
        yield "/api/search", {"query": question, "as_of": "2030-01-01T00:00:00Z"}
        yield "/api/memory/raw/recall", {"query": question}
        yield "/api/context/pack", {"goal": question}
        yield "/api/synthesis/plan", {"goal": question}
    yield "/api/context/reflect", NOTES
    yield "/api/memory/reflection/review/drain", {"dry_run": True}
    for mode in ("related", "list"):
        yield "/api/search/explore", {"mode": mode, "entity_id": record_id, "depth": 3}
    for mode in ("timeline", "history", "conflicts"):
        yield "/api/search/temporal", {"mode": mode, "entity_id": record_id}


def differences(one: object, other: object, path: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            # Candidates that were not kept are of the moment of the answer.
            is_now = key.endswith("_ms") or (key.endswith("_at") and ".candidates[" in path)
            if key not in PASSING and not is_now:
                yield from differences(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{path}[{place}]")
    elif isinstance(one, str) and isinstance(other, str) and SCORE.search(one):
        texts = ([SCORE.sub("", text), *map(float, SCORE.findall(text))] for text in (one, other))
        yield from differences(*texts, path)
    elif isinstance(one, float) and isinstance(other, float):
        if abs(one - other) > 0.0101:
            yield f"{path}: {one} and {other}"
    elif one != other:
        yield f"{path}: {one} and {other}"


@pytest.mark.parametrize("scope", ["private", "organization"])
async def test_what_somebody_else_keeps_private_leaves_no_trace(world: World, scope: str) -> None:
    ada = await world.person("ada")
    story = Story(world, ada, await world.person("bob", of=ada, role="member"))
    await story.begin()
    before = await story.answers()
    assert list(differences(before, await story.answers())) == []
    assert sum(answer["status"] == 200 for answer in before.values()) > 50
    await story.keep(scope)
    found = list(differences(before, await story.answers()))
    if scope == "private":
        assert found == []
    else:
        assert len(found) > 50, "what is everybody's shows in many places, so that what is private would"
