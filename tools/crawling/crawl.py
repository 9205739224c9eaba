"""The jobs that crawl a source: each writes with the present rights of the user who queued it."""

import hashlib
import html
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from itertools import islice
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints

from auth.api_keys import present_rights
from auth.policy import may_read, require_writable
from stores.errors import Forbidden, InvalidRequest, NotFound, Unavailable, ValidationFailed
from stores.ledger import Transaction
from stores.records import Document, Entity, JsonObject
from tools.crawling.fetching import Failing, Fetched, Gone, Site, is_page, is_wanted, open_site, origin, page_address
from tools.crawling.texts import PageText, Unreadable, read_apart
from tools.entities.documents import DocumentText, IngestRequest, Page, Url, ingest_documents, prepared, write_documents
from tools.frame.operation import WRITERS, Operation, Request
from tools.frame.screening import screened
from tools.frame.threads import in_thread
from tools.jobs.functions import JobFunction, JobHost, RunningJob
from tools.records.projects import require_live

CRAWL, SYNC = "crawl_source", "sync_source"
KEY = "crawl_settings"
"""Name of the settings in the metadata of a source."""
Patterns = Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=200)]], Field(max_length=20)]
ATTEMPTS = 3
BATCH, BATCH_CHARACTERS = 16, 1_000_000
"""Documents of a transaction; characters after which it does not wait for more."""
VALIDATORS = ("etag", "modified")
MOST_SEEN = 50_000
"""Addresses that are kept in memory."""
COUNTED = ("pages", "new", "changed", "unchanged", "removed", "unread", "credentials")
SITEMAPS = 50
"""Files of an index that are read."""
MOST_NAMED = 50_000
"""Addresses of one file, as the protocol allows."""
# No part can match where another one does: the time is linear.
_PLACE = re.compile(r"<loc>([^<>]{0,3000})(?:<!\[CDATA\[([^<>\]]{1,3000})\]\]>)?")
NAMED = 100
"""Pages that could not be read and are named in the result."""


class CrawlSettings(Request):
    """A site or sitemap, and how much of it."""

    url: Url = Field(description="Address of the first page, or of a sitemap (`….xml`).")
    depth: int = Field(3, ge=0, le=20, description="Links to follow from the first page.")
    pages: int = Field(200, ge=1, le=5_000, description="Most pages to read.")
    include: Patterns = Field([], description="Only pages whose path fits one of these: `/guide/*`.")
    exclude: Patterns = Field([], description="No pages whose path fits one of these.")

    @property
    def is_sitemap(self) -> bool:
        return urlsplit(self.url).path.endswith(".xml")

    @property
    def stamp(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]

    @classmethod
    def of(cls, source: Entity) -> "CrawlSettings":
        """Return the settings of a source, or raise InvalidRequest if it was not crawled."""
        if KEY not in source.metadata:
            is_folder = (source.source_file or "").startswith("file:")
            way = "Run `engrain crawl FOLDER` where it is." if is_folder else "Send its documents again."
            raise InvalidRequest(f"The server did not crawl {source.id}, so it cannot read it again.", remediation=way)
        return cls.model_validate(source.metadata[KEY])


async def crawl(host: JobHost, running: RunningJob) -> JsonObject:
    source = await in_thread(_source_of, host, running)
    settings = CrawlSettings.of(source)
    documents = await in_thread(host.ledger.records.documents, source.organization_id, source.id)
    known = {each.url: each for each in documents if each.fetched is not None}
    networks = [ip_network(each) for each in host.settings.crawl_networks]
    async with open_site(settings.url, networks) as site:
        return await _Crawl(host, running, source, settings, site, known).run()


def _source_of(host: JobHost, running: RunningJob) -> Entity:
    with _writing(host, running) as (_, source):
        return source


@contextmanager
def _writing(host: JobHost, running: RunningJob) -> Iterator[tuple[Transaction, Entity]]:
    job = running.job
    with host.ledger.transaction(job.organization_id, job.actor_id, deferred=True) as tx:
        tx.jobs.require(job)
        caller = present_rights(host.ledger, host.clock, job, job.payload.get("grant_id"))
        source = tx.records.entity(str(job.payload["source_id"]))
        if source is None or caller is None or not may_read(caller, source.visibility):
            raise NotFound("The source was deleted, or the user who asked for the crawl may no longer read it.")
        if caller.role not in WRITERS:
            raise Forbidden("The user who asked for the crawl may no longer write.")
        require_writable(caller, source)
        if source.project_id is not None:
            require_live(source.project_id, tx.records.entity(source.project_id))
        yield tx, source


class _Visit(NamedTuple):
    address: str
    depth: int
    parent: str = ""
    is_known: bool = False


@dataclass(slots=True)
class _Crawl:
    host: JobHost
    running: RunningJob
    source: Entity
    settings: CrawlSettings
    site: Site
    known: dict[str, Document]
    """Documents of earlier crawls by address."""
    found: deque[_Visit] = field(default_factory=deque)
    """Pages to visit, before those of `known`."""
    seen: set[str] = field(default_factory=set)
    batch: list[Page] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    fetched: dict[str, JsonObject] = field(default_factory=dict)
    failures: list[JsonObject] = field(default_factory=list)
    may_pass: bool = False
    """A page failed that may be there at another time."""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))

    async def run(self) -> JsonObject:
        waiting = await self._begin()
        while (self.found or waiting) and self.counts["pages"] < self.settings.pages:
            visit = (self.found or waiting).popleft()
            if visit.is_known and visit.address in self.seen:
                continue
            self.seen.add(visit.address)
            await self._visit(visit)
            self.counts["pages"] += 1
            size = sum(len(piece.content) for page in self.batch for piece in page.pieces)
            if len(self.batch) >= BATCH or size >= BATCH_CHARACTERS:
                await in_thread(self._write)
            total = min(self.settings.pages, self.counts["pages"] + len(self.found) + len(waiting))
            await in_thread(self.running.progress, self.counts["pages"], total)
        await in_thread(self._write)
        if self.counts["unread"] == self.counts["pages"] and not self.known:
            reason = str(self.failures[0]["reason"]) if self.failures else "names no page of this site"
            raise (Unavailable if self.may_pass else InvalidRequest)(f"{self.site.start} {reason}.")
        await in_thread(self._keep_validators)
        more: JsonObject = {"failures": [*self.failures], "more_pages": bool(self.found)}
        return {"source_id": self.source.id, **self.counts, **more}

    async def _begin(self) -> deque[_Visit]:
        if self.settings.is_sitemap:
            named = await _named_pages(self.site, MOST_SEEN)
            self.found.extend(_Visit(each, 0) for each in named if self._is_wanted(each))
        else:
            self.found.append(_Visit(self.site.start, 0))
        self.seen.update(each.address for each in self.found)
        by_depth = sorted(self.known.values(), key=_depth)
        stale = {each.id for each in by_depth if _depth(each) > self.settings.depth or not self._is_wanted(each.url)}
        self.gone += stale
        return deque(_Visit(each.url, _depth(each), is_known=True) for each in by_depth if each.id not in stale)

    def _is_wanted(self, address: str) -> bool:
        is_start = address == self.site.start and not self.settings.is_sitemap
        return is_start or is_wanted(address, self.settings.include, self.settings.exclude)

    async def _visit(self, visit: _Visit) -> None:
        before = self.known.get(visit.address)
        last: JsonObject = (before.fetched or {}) if before is not None else {}
        # Read whole: with other settings, other links of it count; without a hash, its chunks were changed.
        is_same = before is not None and before.content_hash != "" and last.get("of") == self.settings.stamp
        try:
            page = await self.site.get(visit.address, *(str(last.get(each, "")) for each in VALIDATORS if is_same))
            if page.status == 304:
                self.counts["unchanged"] += 1
                return
            if page.url != visit.address and not self._is_new_place(page, before):
                return
            text = await read_apart(page.url, page.content_type, page.data)
            await in_thread(self._follow, page.url, text, visit.depth)
            await self._take(page, text, {"depth": visit.depth})
        except Unreadable as error:
            self._note(visit, error)
            if before is not None and isinstance(error, Gone):
                self.gone.append(before.id)

    def _is_new_place(self, page: Fetched, before: Document | None) -> bool:
        if before is not None:
            self.gone.append(before.id)
        is_new = page.url not in self.seen and self._is_wanted(page.url)
        self.seen.add(page.url)
        return is_new

    def _follow(self, address: str, text: PageText, depth: int) -> None:
        if self.settings.is_sitemap or depth >= self.settings.depth or len(self.seen) > MOST_SEEN:
            return
        base = page_address(address, text.base) if text.base else None
        for link in text.links:
            found = page_address(base or address, link)
            if found is None or found in self.seen or origin(found) != origin(self.site.start):
                continue
            self.seen.add(found)
            if is_page(found) and self._is_wanted(found) and self.site.may_read(found):
                self.found.append(_Visit(found, depth + 1, address))

    async def _take(self, page: Fetched, text: PageText, fetched: JsonObject) -> None:
        before = self.known.get(page.url)
        if not text.text:
            raise Unreadable("holds no text")
        validators: JsonObject = {"etag": page.etag, "modified": page.modified, "of": self.settings.stamp}
        self.fetched.setdefault(page.url, fetched | validators)
        ready = await in_thread(self._prepared, page.url, text, fetched)
        if before is not None and before.content_hash == ready.digest:
            self.counts["unchanged"] += 1
            return
        self.counts["new" if before is None else "changed"] += 1
        self.batch.append(ready)

    def _prepared(self, address: str, text: PageText, fetched: JsonObject) -> Page:
        document = DocumentText(url=address, title=text.title or None, content=text.text)
        asked = IngestRequest(source_id=self.source.id, documents=[document])
        try:
            request, warnings = screened(Operation(ingest_documents), asked, self.host.settings.secrets)
        except ValidationFailed:
            raise Unreadable("holds what looks like a credential, which this server does not keep") from None
        self.counts["credentials"] += bool(warnings)
        (kept,) = IngestRequest.model_validate(request).documents
        return prepared(kept, fetched)

    def _note(self, visit: _Visit, error: Unreadable) -> None:
        self.counts["unread"] += 1
        self.may_pass = self.may_pass or isinstance(error, Failing)
        if visit.parent in self.fetched:
            # Read whole the next time, it names this page again.
            self.fetched[visit.parent] = {"depth": self.fetched[visit.parent]["depth"]}
        if len(self.failures) < NAMED:
            self.failures.append({"url": visit.address, "reason": str(error)[:300]})

    def _write(self) -> None:
        if not self.batch and not self.gone:
            return
        with _writing(self.host, self.running) as (tx, source):
            write_documents(self.host.ledger, tx, source, self.batch)
            there = {each.id for each in self.host.ledger.records.documents(source.organization_id, source.id)}
            gone = there.intersection(self.gone)
            for document_id in gone:
                tx.records.remove_document(document_id)
        self.counts["removed"] += len(gone)
        self.batch, self.gone = [], []

    def _keep_validators(self) -> None:
        """Let the next crawl ask for changes alone: pages that were read and whose links were followed."""
        known = self.host.ledger.records.documents(self.source.organization_id, self.source.id)
        stale = [each for each in known if self.fetched.get(each.url, each.fetched) != each.fetched]
        if stale:
            with _writing(self.host, self.running) as (tx, _):
                for each in stale:
                    tx.records.change_document(replace(each, fetched=self.fetched[each.url]))


async def _named_pages(site: Site, limit: int) -> list[str]:
    # No XML parser reads it, so nothing in it is expanded.
    found: dict[str, None] = {}
    waiting, seen = deque([site.start]), {site.start}
    read = 0
    while waiting and read < SITEMAPS and len(found) < limit:
        address = waiting.popleft()
        read += 1
        try:
            text = (await site.get(address)).data.decode("utf-8", "replace")
        except Unreadable as error:
            if address == site.start:
                raise InvalidRequest(f"The sitemap {address} {error}.") from None
            continue
        here = await in_thread(_named, site, address, text)
        if "<sitemapindex" in text[:5000]:
            waiting += [each for each in here if each not in seen]
            seen.update(here)
        else:
            found |= dict.fromkeys(here)
    return [*found][:limit]


def _named(site: Site, address: str, text: str) -> list[str]:
    links = (html.unescape(each[2] or each[1]).strip() for each in islice(_PLACE.finditer(text), MOST_NAMED))
    found = (page_address(address, link) for link in links if link)
    return [each for each in found if each is not None and origin(each) == origin(site.start)]


def _depth(document: Document) -> int:
    depth = (document.fetched or {}).get("depth", 0)
    return depth if isinstance(depth, int) else 0


FUNCTIONS = tuple(JobFunction(name, crawl, attempts=ATTEMPTS) for name in (CRAWL, SYNC))
