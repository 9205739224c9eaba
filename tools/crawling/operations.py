"""Crawling a site or sitemap as a source, and crawling it again."""

import hashlib
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_network
from urllib.parse import urlsplit

from pydantic import Field

from auth.policy import may_read, require_writable, writable_visibility
from auth.principal import Principal
from stores.clock import new_id
from stores.errors import Forbidden, InvalidRequest, Unavailable
from stores.jobs import JobDraft
from stores.ledger import EntityQuery, Transaction
from stores.records import Entity
from tools.app import App
from tools.crawling.crawl import CRAWL, KEY, SYNC, CrawlSettings
from tools.crawling.fetching import page_address, resolved
from tools.entities.documents import source_draft
from tools.entities.entities import readable
from tools.frame.operation import Call, Request, Result, Route, writing
from tools.frame.threads import in_thread
from tools.records.containment import contain
from tools.records.entity_models import NAME_LIMIT, EntityId, MutationReceipt, Name
from tools.records.projects import require_live
from tools.records.receipts import receipt_for

MOST = 10_000


class CrawlRequest(CrawlSettings):
    """A site or sitemap, and how much of it."""

    source_name: Name | None = Field(None, description="Name of a new source; its address when absent.")
    project: EntityId | None = Field(None, description="Id of the project that the source belongs to.")


class SyncRequest(Request):
    """A source that was crawled."""

    source_id: EntityId = Field(description="Id of the source.")


class SyncAllRequest(Request):
    """Sources that were crawled."""

    project: EntityId | None = Field(None, description="Id of a project: only its sources. Default: all.")


class CrawlStarted(Result):
    """A crawl that will run in the background."""

    source_id: str
    source_name: str
    job_id: str = Field(description="Ask for its status with GET /api/jobs/{job_id}.")
    message: str
    mutation_receipt: MutationReceipt | None = None


class SyncsStarted(Result):
    """Crawls that will run in the background."""

    jobs: list[CrawlStarted]
    message: str


@writing(
    Route("POST", "/api/sources/crawl", status=202, tag="documents", errors=(400, 404, 409)),
    "entity_created",
    "entity_updated",
    "entity_deleted",
    "crawl_started",
    "crawl_progress",
    "crawl_complete",
)
async def crawl_source(app: App, call: Call, request: CrawlRequest) -> CrawlStarted:
    """Read a site or sitemap in the background, and keep its pages as documents of a source.

    The same address in the same project is the same source: it is read again, and unchanged pages stay as they are.
    """
    url = page_address("", request.url)
    if url is None:
        raise InvalidRequest(
            f"{request.url[:200]!r} is not the address of a page.",
            remediation="Write it as https://docs.example.org/guide.",
        )
    with suppress(Unavailable):  # A name: the crawl resolves it.
        await resolved(url, [ip_network(each) for each in app.settings.crawl_networks], is_number=True)
    return await in_thread(_crawl, app, call, request, url)


_SYNC_EVENTS = ("entity_created", "entity_deleted", "crawl_started", "crawl_progress", "crawl_sync_complete")


@writing(
    Route("POST", "/api/sources/{source_id}/sync", status=202, tag="documents", errors=(400, 404, 409)), *_SYNC_EVENTS
)
def sync_source(app: App, call: Call, request: SyncRequest) -> CrawlStarted:
    """Crawl a source again in the background: only pages and sections that have changed are written."""
    source = readable(app, call.caller, request.source_id)
    require_writable(call.caller, source)
    CrawlSettings.of(source)
    with app.ledger.transaction(call.caller.organization_id, call.caller.user_id, claim=call.claim) as tx:
        return _started(app, call, tx, source, SYNC)


@writing(Route("POST", "/api/sources/sync", status=202, tag="documents", errors=(404,)), *_SYNC_EVENTS)
def sync_all_sources(app: App, call: Call, request: SyncAllRequest) -> SyncsStarted:
    """Crawl all sources again that the server has crawled and the caller may change, each as a job of its own."""
    caller, jobs = call.caller, list[CrawlStarted]()
    inside = (request.project,) if request.project else ()
    query = EntityQuery(caller.visible, types=("source",), project_ids=inside, limit=MOST)
    found, _ = app.ledger.records.list_entities(caller.organization_id, query)
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        for source in found:
            with suppress(Forbidden):
                require_writable(caller, source)
                if KEY in source.metadata:
                    jobs.append(_started(app, call, tx, source, SYNC))
    return SyncsStarted(jobs=jobs, message=f"Crawls begun in the background: {len(jobs)}.")


def _crawl(app: App, call: Call, request: CrawlRequest, url: str) -> CrawlStarted:
    caller = call.caller
    settings = CrawlSettings(**{**request.model_dump(exclude={"source_name", "project"}), "url": url}).model_dump()
    place = writable_visibility(caller, None, request.project)
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        if request.project is not None:
            require_live(request.project, tx.records.entity(request.project))
        source_id, source = _found(tx, caller, url, request.project)
        if source is None:
            name = request.source_name or f"{urlsplit(url).netloc}{urlsplit(url).path}".rstrip("/")[:NAME_LIMIT]
            draft = source_draft(name, url, request.project, place, source_id)
            draft = replace(draft, metadata=draft.metadata | {KEY: settings})
            source = tx.records.create_entity(draft, fields={"mode": "async"})
            contain(tx, caller, None, source)
        else:
            _require_name(source, request.source_name)
            if source.metadata.get(KEY) != settings:
                metadata = source.metadata | {KEY: settings}
                source = tx.records.update_entity(source.id, lambda each: replace(each, metadata=metadata))
        return _started(app, call, tx, source, CRAWL)


def _found(tx: Transaction, caller: Principal, url: str, project: str | None) -> tuple[str, Entity | None]:
    """Return the id for the source of an address in a project, and the source if it is there."""
    source_id = f"source_{hashlib.sha256(f'{url} {project}'.encode()).hexdigest()[:12]}"
    source = tx.records.entity(source_id)
    if source is None:
        return source_id, None
    # One that was moved, or that the caller may not see, is another one.
    if not may_read(caller, source.visibility) or (source.source_file, source.project_id) != (url, project):
        return new_id("source"), None
    require_writable(caller, source)
    return source_id, source


def _require_name(source: Entity, name: str | None) -> None:
    if name is not None and name != source.name:
        raise InvalidRequest(
            f"source_name is {name!r}, but the source {source.id} of this address has {source.name!r}.",
            remediation=f"Leave source_name out, or change the source with PATCH /api/entities/{source.id}.",
        )


def _started(app: App, call: Call, tx: Transaction, source: Entity, function: str) -> CrawlStarted:
    job_id = f"crawl:{source.id}"
    payload = {"source_id": source.id, "grant_id": call.caller.grant_id}
    tx.jobs.enqueue(
        JobDraft(job_id, function, dict(payload), source.visibility, call.caller.user_id, call.caller.key_id)
    )
    return CrawlStarted(
        source_id=source.id,
        source_name=source.name,
        job_id=job_id,
        message=f"The crawl of {source.id} goes on in the background as the job {job_id}.",
        mutation_receipt=receipt_for(app, call, [f"entity:{source.id}"]),
    )
