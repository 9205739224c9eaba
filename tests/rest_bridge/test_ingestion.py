import re
from collections import defaultdict
from typing import Any

import anyio
import httpx2
import pytest

from rest_bridge.application import build_asgi
from tests.people import Person, person
from tests.rest_bridge.harness import Client, client_of
from tools.app import App

pytestmark = pytest.mark.anyio

PATH = "/api/ingestion/documents"
VERSION = re.compile(r"v\d+-\d+")


def bearer(who: Person) -> dict[str, str]:
    return {"Authorization": f"Bearer {who.token}"}


def document(url: str, version: str) -> dict[str, str]:
    sections = (f"# {part}\n\n{version} of {part}. " + "Words that fill it. " * 60 for part in ("One", "Two"))
    return {"url": url, "content": "\n\n".join(sections)}


async def chunks_by_url(client: Client, who: Person) -> dict[str, list[dict[str, Any]]]:
    listed = await client.get("/api/entities?entity_type=document&page_size=200", headers=bearer(who))
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for chunk in listed.json()["entities"]:
        found[chunk["metadata"]["document_url"]].append(chunk)
    return found


async def test_two_callers_who_ingest_the_same_addresses_leave_one_version_of_each(app: App) -> None:
    ada = await person(app, "ada")
    bob = await person(app, "bob", of=ada, role="member")
    async with client_of(build_asgi(app)) as client:
        first = {"source_name": "Docs", "documents": [document("first.md", "v0")]}
        source = (await client.post(PATH, json=first, headers=bearer(ada))).json()["source_id"]
        answers: list[httpx2.Response] = []

        async def ingest(who: Person, version: str) -> None:
            documents = [document(url, version) for url in ("first.md", "second.md", "third.md")]
            body = {"source_id": source, "documents": documents}
            answers.append(await client.post(PATH, json=body, headers=bearer(who)))

        for number in range(3):
            async with anyio.create_task_group() as tasks:
                for at in range(6):
                    # Some send the same again, which may be skipped; the others replace it.
                    tasks.start_soon(ingest, (ada, bob)[at % 2], f"v{number}-{at // 2}")
            assert {answer.status_code for answer in answers} == {201}, [answer.text for answer in answers]
            found = await chunks_by_url(client, ada)
            assert set(found) == {"first.md", "second.md", "third.md"}
            for chunks in found.values():
                assert len({chunk["metadata"]["document_id"] for chunk in chunks}) == 1
                assert sorted(chunk["metadata"]["chunk_index"] for chunk in chunks) == list(range(len(chunks)))
                assert len(chunks) == 2
                assert len({VERSION.findall(chunk["content"])[0] for chunk in chunks}) == 1, "from two versions"
    stored = sum(answer.json()["chunk_count"] for answer in answers)
    removed = sum(3 - answer.json()["skipped"] for answer in answers)
    assert stored == 2 * removed, "every document that was not skipped was stored whole"
