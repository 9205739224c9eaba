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


async def test_a_changed_section_rewrites_its_chunks_alone(app: App) -> None:
    ada = await person(app, "ada")
    sections = {name: f"## {name}\n\n" + f"{name} words. " * 200 for name in ("One", "Two", "Three")}
    page = {"url": "a.md", "content": "# Title\n\nIntro.\n\n" + "\n\n".join(sections.values())}
    async with client_of(build_asgi(app)) as client:
        made = (await client.post(PATH, json={"source_name": "S", "documents": [page]}, headers=bearer(ada))).json()
        body = {"source_id": made["source_id"]}

        async def send(*names: str, url: str = "a.md", **more: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
            text = "# Title\n\nIntro.\n\n" + "\n\n".join(sections[name] for name in names)
            sent = {**body, "documents": [{"url": url, "content": text}], **more}
            answer = (await client.post(PATH, json=sent, headers=bearer(ada))).json()
            found = (await chunks_by_url(client, ada))[url]
            return answer, sorted(found, key=lambda each: int(each["metadata"]["chunk_index"]))

        _, before = await send("One", "Two", "Three")
        sections["Two"] = "## Two\n\nOther words."
        answer, after = await send("One", "Two", "Three")
        kept = [each for each in before if "Two" not in each["metadata"]["heading_path"]]
        assert [(each["id"], each["revision"]) for each in after if "Two" not in each["metadata"]["heading_path"]] == [
            (each["id"], 1) for each in kept
        ]
        assert (answer["kept_chunks"], answer["chunk_count"]) == (len(kept), len(kept) + 1)
        assert answer["document_ids"] == made["document_ids"]
        _, moved = await send("Three", "One")
        assert {each["id"] for each in moved} == {each["id"] for each in kept}
        assert [each["metadata"]["chunk_index"] for each in moved] == list(range(len(moved)))
        assert moved[1]["metadata"]["heading_path"] == ["Title", "Three"]
        answer, _ = await send("One", url="b.md", only_urls=["b.md"])
        assert (answer["removed"], set(await chunks_by_url(client, ada))) == (1, {"b.md"})
