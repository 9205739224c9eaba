"""Crawls of a real site on this machine: what is read, what is left, and what a second crawl writes."""

import threading
from typing import Any

import anyio
import pytest

from auth.policy import may_read
from stores.errors import Forbidden, InvalidRequest, NotFound
from tests.people import Person, caught_up, person, worked
from tests.tools.crawling.site import Answer, TestSite
from tests.tools.jobs.test_runner import reached
from tests.tools.runtime.test_events import collect
from tools.crawling.fetching import LARGEST
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

GUIDE = "<h1>Guide</h1><p>Walk to the ford.</p><h2>Boats</h2><p>Row against the tide.</p>"


def linked(*paths: str) -> str:
    return "".join(f'<a href="{path}">x</a>' for path in paths)


async def crawled(who: Person, url: str, verb: str = "crawl_source", **fields: Any) -> dict[str, Any]:
    given = {"url": url} if verb == "crawl_source" else {"source_id": url}
    started = await who.call(verb, **given, **fields)
    await worked(who.app, "crawl_source", "sync_source")
    return dict(await who.call("get_job", job_id=started["job_id"]))


async def texts(who: Person) -> dict[str, list[str]]:
    """Return the contents of the chunks by the path of their page."""
    found: dict[str, list[str]] = {}
    for each in (await who.call("list_entities", entity_type="document", page_size=200))["entities"]:
        path = "/" + each["metadata"]["document_url"].split("/", 3)[3]
        found.setdefault(path, []).append(each["content"])
    return found


async def versions(who: Person) -> dict[str, int]:
    return dict(await in_thread(who.app.ledger.records.revisions, who.organization_id))


async def test_pages_of_the_site_become_documents(owner: Person, pages: TestSite) -> None:
    pages.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /secret\n", "text/plain")
    pages.page("/", GUIDE + linked("/a#top", "a", "/secret/x", "http://127.0.0.2/", "mailto:x@y", "/b.png", "/old"))
    pages.page("/a", "<nav>Menu</nav><h1>Ferry</h1><p>The ferry leaves at nine.</p>" + linked("/deep"))
    pages.page("/deep", "<p>Deeper words.</p>" + linked("/deeper"))
    pages.page("/deeper", "<p>Too deep.</p>")
    pages.page("/secret/x", "<p>Hidden.</p>")
    pages.pages["/old"] = Answer(status=301, headers={"Location": "/new"})
    pages.page("/new", "<p>Moved words.</p>")
    job = await crawled(owner, pages.address, depth=2)
    assert (job["status"], job["error"]) == ("complete", None)
    told = {name: job["result"][name] for name in ("pages", "new", "unread", "failures", "more_pages")}
    assert told == {"pages": 4, "new": 4, "unread": 0, "failures": [], "more_pages": False}
    assert job["progress"] == {"done": 4, "total": 4}
    found = await texts(owner)
    assert set(found) == {"/", "/a", "/deep", "/new"}
    assert found["/a"] == ["# Ferry\n\nThe ferry leaves at nine.\n\nx"]
    assert pages.paths().count("/a") == 1
    await caught_up(owner)
    hit = (await owner.call("search", query="row against the tide"))["results"][0]
    assert (hit["url"], hit["metadata"]["heading_path"]) == (f"{pages.address}/", ["Guide", "Boats"])
    source = await owner.call("get_entity", entity_id=job["result"]["source_id"])
    assert source["metadata"]["crawl_settings"]["depth"] == 2
    kept = await owner.call("update_entity", entity_id=source["id"], metadata={"crawl_settings": {"url": "x"}})
    assert kept["metadata"]["crawl_settings"] == source["metadata"]["crawl_settings"]


async def test_a_second_crawl_writes_only_what_has_changed(owner: Person, pages: TestSite) -> None:
    pages.page("/", GUIDE + linked("/a", "/b", "/gone"), headers={"ETag": '"1"'})
    for path in ("/a", "/b", "/gone"):
        pages.page(path, f"<p>Words of {path}.</p>", headers={"ETag": '"1"'} if path != "/b" else {})
    first = (await crawled(owner, pages.address))["result"]
    before = await versions(owner)
    pages.asked.clear()
    again = (await crawled(owner, first["source_id"], "sync_source"))["result"]
    assert (again["pages"], again["unchanged"]) == (4, 4)
    assert (sorted(pages.paths(304)), pages.paths()) == (["/", "/a", "/gone"], ["/b"])
    assert await versions(owner) == before, "nothing is written"
    pages.page("/", GUIDE.replace("tide", "wind") + linked("/a", "/b", "/c"), headers={"ETag": '"2"'})
    pages.page("/c", "<p>New words.</p>")
    del pages.pages["/gone"]
    changed = (await crawled(owner, first["source_id"], "sync_source"))["result"]
    counted = {name: changed[name] for name in ("new", "changed", "unchanged", "removed", "unread")}
    assert counted == {"new": 1, "changed": 1, "unchanged": 2, "removed": 1, "unread": 1}
    after = await versions(owner)
    assert len(before.keys() - after.keys()) == 2, "the section that changed, and the page that is gone"
    assert len(after.keys() - before.keys()) == 2
    assert "Row against the wind." in (await texts(owner))["/"][0]
    await caught_up(owner)


async def test_a_page_that_failed_and_a_chunk_that_was_changed_are_mended(owner: Person, pages: TestSite) -> None:
    pages.page("/", GUIDE + linked("/a", "/b"), headers={"ETag": '"1"'})
    pages.page("/a", "<p>Right words.</p>", headers={"ETag": '"é"'})
    pages.page("/b", "", status=503)
    first = (await crawled(owner, pages.address))["result"]
    assert (first["new"], first["unread"]) == (2, 1)
    chunks = (await owner.call("list_entities", entity_type="document"))["entities"]
    (changed,) = [each["id"] for each in chunks if each["content"] == "Right words."]
    await owner.call("update_entity", entity_id=changed, content="Wrong words.")
    pages.page("/b", "<p>Late words.</p>")
    await crawled(owner, first["source_id"], "sync_source")
    found = await texts(owner)
    assert (found["/a"], found["/b"]) == (["Right words."], ["Late words."])


async def test_other_settings_read_every_page_again(owner: Person, pages: TestSite) -> None:
    pages.page("/", GUIDE + linked("/a"), headers={"ETag": '"1"'})
    pages.page("/a", "<p>Words.</p>" + linked("/guide/b"), headers={"ETag": '"1"'})
    pages.page("/guide/b", "<p>More words.</p>")
    one = await crawled(owner, pages.address, depth=1)
    two = await crawled(owner, pages.address, source_name=None, depth=2)
    assert one["result"]["source_id"] == two["result"]["source_id"]
    assert set(await texts(owner)) == {"/", "/a", "/guide/b"}
    three = await crawled(owner, pages.address, include=["/guide/*"], exclude=["/x/*"])
    assert (three["result"]["removed"], set(await texts(owner))) == (1, {"/", "/guide/b"})
    four = await crawled(owner, pages.address, pages=1)
    assert (four["result"]["pages"], four["result"]["more_pages"]) == (1, True)


async def test_a_sitemap_names_the_pages(owner: Person, pages: TestSite) -> None:
    where = pages.address
    pages.pages["/sitemap.xml"] = Answer(
        f"<sitemapindex><sitemap><loc>{where}/one.xml</loc></sitemap><loc>{where}/lost.xml</loc></sitemapindex>".encode(),
        "application/xml",
    )
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    named = f"<urlset><url><loc> {where}/p?a=1&amp;b=2 </loc></url><url><loc>http://127.0.0.2/</loc></url></urlset>"
    named += f"<loc>\n<![CDATA[ {where}/q ]]></loc><loc></loc><loc>{' ' * 5_000}"
    pages.pages["/one.xml"] = Answer(bomb + named.encode(), "text/xml")
    pages.page("/p?a=1&b=2", "<p>Words.</p>" + linked("/other"))
    pages.page("/q", "<p>Quoted.</p>")
    job = await crawled(owner, f"{where}/sitemap.xml")
    assert (job["result"]["pages"], set(await texts(owner))) == (2, {"/p?a=1&b=2", "/q"})


async def test_what_cannot_be_read_is_named_and_stops_nothing(owner: Person, pages: TestSite) -> None:
    pages.page("/", linked("/pdf", "/huge", "/broken", "/empty", "/image", "/latin", "/away", "/loop", "/key"))
    pages.pages["/pdf"] = Answer(b"%PDF-1.7 broken", "application/pdf")
    pages.pages["/huge"] = Answer(b"a" * (LARGEST + 1), "text/plain")
    pages.pages["/broken"] = Answer(status=503)
    pages.pages["/empty"] = Answer(b"<html><script>x()</script></html>")
    pages.pages["/image"] = Answer(b"\x89PNG", "image/png")
    pages.pages["/latin"] = Answer("<p>Café</p>".encode("latin-1"), "text/html; charset=utf-8")
    pages.pages["/away"] = Answer(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})
    pages.pages["/loop"] = Answer(status=302, headers={"Location": "/loop"})
    pages.page("/key", "<p>password = hunter2secret</p>")
    result = (await crawled(owner, pages.address))["result"]
    reasons = {each["url"].rpartition("/")[2]: each["reason"] for each in result["failures"]}
    assert set(reasons) == {"pdf", "huge", "broken", "empty", "image", "away", "loop"}
    for path, words in (
        ("pdf", "damaged PDF"), ("huge", "exceeds"), ("broken", "503"), ("empty", "no text"), ("image", "image/png"),
        ("away", "another site, http://169.254.169.254"), ("loop", "more than 5"),
    ):  # fmt: skip
        assert words in reasons[path]
    found = await texts(owner)
    assert found["/latin"] == ["Café"]
    assert (found["/key"], result["credentials"]) == (["password = [redacted]"], 1)


@pytest.mark.parametrize("host", ["127.0.0.2", "[::1]", "[::ffff:10.0.0.1]", "2130706434", "0", "169.254.169.254"])
async def test_private_addresses_are_refused(owner: Person, host: str) -> None:
    await owner.refused("crawl_source", Forbidden, url=f"http://{host}:9/", match="private network")
    assert (await owner.call("list_entities", entity_type="source"))["entities"] == []


async def test_a_name_that_leads_elsewhere_later_is_not_followed(
    owner: Person, pages: TestSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.page("/", GUIDE + linked("/a"))
    pages.page("/a", "<p>Words.</p>")
    numbers = iter(["127.0.0.1", "127.0.0.1", "10.0.0.1"])

    async def resolve(host: str, port: int, *, flags: int, **_: Any) -> list[Any]:
        assert host == "docs.example"
        if flags:
            raise OSError("no number")
        return [(None, None, None, None, (next(numbers), port))]

    monkeypatch.setattr(anyio, "getaddrinfo", resolve)
    result = (await crawled(owner, pages.address.replace("127.0.0.1", "docs.example")))["result"]
    assert (result["new"], result["unread"]) == (1, 1)
    assert "private network" in result["failures"][0]["reason"]


async def test_a_crawl_is_cancelled_and_tells_its_events(owner: Person, pages: TestSite) -> None:
    pages.page("/", GUIDE + linked("/a"))
    pages.page("/a", "<p>Words.</p>", gate=threading.Event())
    stream = owner.app.events.subscribe(await in_thread(owner.app.accounts.authenticate, owner.token))
    async with stream as events, anyio.create_task_group() as tasks:
        started = await owner.call("crawl_source", url=pages.address)
        tasks.start_soon(worked, owner.app, "crawl_source")
        with anyio.fail_after(20):
            while "/" not in pages.paths():  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.01)
        told = []
        while not told or told[-1].name != "crawl_progress":
            told += [each for each in await collect(events, 1) if each.name.startswith("crawl")]
        named = {"job_id": started["job_id"], "source_id": started["source_id"]}
        assert [each.name for each in told] == ["crawl_started", "crawl_progress"]
        assert [each.data for each in told] == [named, named | {"done": 1, "total": 2}]
        assert (await owner.call("cancel_job", job_id=started["job_id"]))["status"] == "cancelled"
        gate = pages.pages["/a"].gate
        assert gate is not None
        gate.set()
    assert await texts(owner) == {}, "the page that was read was not written yet"


@pytest.mark.parametrize("loss", ["role", "project"])
async def test_rights_that_are_lost_meanwhile_end_it(owner: Person, pages: TestSite, loss: str) -> None:
    member = await person(owner.app, "member", of=owner, role="member")
    project = (await owner.call("create_entity", name="Docks", entity_type="project"))["id"]
    grant = {"project_id": project, "user_id": member.user_id, "role": "project_contributor"}
    await owner.call("add_project_member", **grant)
    pages.page("/", GUIDE, gate=threading.Event())
    started = await member.call("crawl_source", url=pages.address, project="docks")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worked, owner.app, "crawl_source")
        await reached(owner, started["job_id"], "in_progress")
        if loss == "role":
            slug = (await owner.call("list_organizations"))["orgs"][0]["slug"]
            await owner.call("change_member", org_slug=slug, user_id=member.user_id, role="viewer")
        else:
            await owner.call("remove_project_member", project_id=project, user_id=member.user_id)
        gate = pages.pages["/"].gate
        assert gate is not None
        gate.set()
        job = await reached(owner, started["job_id"])
    assert job.state == "failed"
    assert "write" in str(job.error) or "may read" in str(job.error)
    assert await texts(owner) == {}


async def test_others_see_nothing_of_a_crawl(
    owner: Person, member: Person, viewer: Person, stranger: Person, pages: TestSite
) -> None:
    pages.page("/", GUIDE)
    hidden = await owner.call("create_entity", name="P", entity_type="project", metadata={"visibility": "private"})
    job = await crawled(owner, pages.address, project=hidden["id"])
    source_id = job["result"]["source_id"]
    for other in (member, stranger):
        await other.refused("sync_source", NotFound, source_id=source_id)
        await other.refused("crawl_source", NotFound, url=pages.address, project=hidden["id"])
        await other.refused("get_job", NotFound, job_id=job["job_id"])
    await viewer.refused("crawl_source", Forbidden, url=pages.address)
    own = await crawled(member, pages.address)
    assert own["result"]["source_id"] != source_id
    principal = await in_thread(owner.app.accounts.authenticate, member.token)
    assert may_read(principal, "organization")
    assert len((await member.call("list_entities", entity_type="source"))["entities"]) == 1


async def test_agents_crawl_with_manage(owner: Person, pages: TestSite) -> None:
    pages.page("/", GUIDE)
    await owner.call("create_entity", name="Docks", entity_type="project")
    data = {"url": pages.address, "project": "docks", "depth": 0}
    done = await owner.call("manage", action="crawl", data=data)
    await worked(owner.app, "crawl_source")
    assert done["success"]
    assert done["data"]["job_id"] in done["message"]
    for action in ("sync", "refresh"):
        again = await owner.call("manage", action=action, entity_id=done["data"]["source_id"])
        assert again["data"]["job_id"] == done["data"]["job_id"]
    await worked(owner.app, "sync_source")
    assert set(await texts(owner)) == {"/"}
    every = await owner.call("manage", action="refresh", data={"project": "docks"})
    assert [each["job_id"] for each in every["data"]["jobs"]] == [done["data"]["job_id"]]
    await worked(owner.app, "sync_source")


async def test_all_sources_are_crawled_again(owner: Person, member: Person, pages: TestSite) -> None:
    pages.page("/", GUIDE)
    pages.page("/a", GUIDE)
    mine = await owner.call("create_entity", name="P", entity_type="project", metadata={"visibility": "private"})
    hidden = await crawled(owner, f"{pages.address}/a", project=mine["id"])
    shown = await crawled(owner, pages.address)
    page = [{"url": "a.md", "content": "Words."}]
    await owner.call("ingest_documents", source_name="D", source_url="file:///docs", documents=page)
    for who, project, jobs in (
        (owner, {}, {hidden["job_id"], shown["job_id"]}), (owner, {"project": mine["id"]}, {hidden["job_id"]}),
        (member, {}, {shown["job_id"]}),
    ):  # fmt: skip
        started = await who.call("sync_all_sources", **project)
        assert {each["job_id"] for each in started["jobs"]} == jobs
        assert started["message"].endswith(f"background: {len(jobs)}.")
    await member.refused("sync_all_sources", NotFound, project=mine["id"])
    await worked(owner.app, "sync_source")
    for job in (hidden, shown):
        again = await owner.call("get_job", job_id=job["job_id"])
        assert (again["function"], again["status"]) == ("sync_source", "complete")


async def test_what_is_no_page_or_was_not_crawled_is_refused(owner: Person, pages: TestSite) -> None:
    for url in ("ftp://x.org/", "/etc/passwd", "file:///etc/passwd", "http://ada:pw@x.org/", "http://[/", "https://"):
        await owner.refused("crawl_source", InvalidRequest, url=url, match="not the address")
    page = [{"url": "a.md", "content": "Words."}]
    made = await owner.call("ingest_documents", source_name="D", source_url="file:///docs", documents=page)
    await owner.refused("sync_source", InvalidRequest, source_id=made["source_id"], match="did not crawl")
    pages.page("/", GUIDE)
    await crawled(owner, pages.address, source_name="Harbour")
    await owner.refused("crawl_source", InvalidRequest, url=pages.address, source_name="Port", match="Harbour")
    pages.pages["/robots.txt"] = Answer(b"User-agent: Engrain\nDisallow: /\n", "text/plain")
    assert "robots.txt" in (await crawled(owner, pages.address))["error"]
