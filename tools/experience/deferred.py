"""Deferred work on an experience: completing its manifest once it is embedded, distilling notes.

Each job writes only for the revision that it was queued for, with the present rights of whoever asked for it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from auth.api_keys import present_rights
from stores.errors import Conflict, Forbidden, NotFound
from stores.ledger import Transaction
from stores.records import JsonObject
from tools.experience import keeping
from tools.experience.keeping import EVIDENCE, OUTLINE, REVISION, Place, Revision, memory_id_of, place_of
from tools.experience.projections import notes
from tools.experience.publishing import DISTILL, EMBED, bound_memory
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob
from tools.records.projects import require_live
from tools.runtime.threads import in_thread

WAIT_S = 2.0
AGAIN_S = 5.0
STALE: JsonObject = {"published": 0}


async def complete_embeddings(host: JobHost, running: RunningJob) -> JsonObject:
    """Wait until every healthy index shows the records of a revision, then mark its manifest as complete."""
    organization, known = running.job.organization_id, await in_thread(_latest, host, running)
    if known is None:
        return STALE
    head = (await in_thread(host.ledger.feed.head, organization)).sequence
    if await host.app.indexer.applied_within(organization, head, [*known.entities], WAIT_S):
        # Others take its turn: a model reads a megabyte in a minute.
        raise NotYet(AGAIN_S)
    return await in_thread(_complete, host, running)


def _complete(host: JobHost, running: RunningJob) -> JsonObject:
    manifest = str(running.job.payload["manifest_id"])
    with _current(host, running) as found:
        if found is None:
            return STALE
        tx, place, revision = found
        before = tx.records.entity(manifest)
        if revision.state == "complete" or before is None:
            return STALE | {"entities": len(revision.entities)}
        tx.records.update_entity(manifest, lambda each: replace(each, metadata=each.metadata | {"state": "complete"}))
        digest, _, number = revision.entities[manifest].partition(":")
        if number == str(before.revision):  # Else somebody changed it, which has to show at the next publication.
            revision.entities[manifest] = f"{digest}:{before.revision + 1}"
        revision.state = "complete"
        keeping.write_revision(tx, place.memory_id, revision)
        return {"published": 1, "entities": len(revision.entities)}


def distil_notes(host: JobHost, running: RunningJob) -> JsonObject:
    organization, manifest = running.job.organization_id, str(running.job.payload["manifest_id"])
    memory_id, payloads = memory_id_of(manifest), host.ledger.payloads
    told = payloads.text(organization, memory_id, OUTLINE)
    if told is None or _latest(host, running) is None:
        return STALE
    # Read before the transaction, which holds only if the revision is still the same.
    records, edges = notes(
        json.loads(told), lambda place: payloads.text(organization, memory_id, EVIDENCE + place) or "", manifest
    )
    with _current(host, running) as found:
        if found is None:
            return STALE
        tx, place, revision = found
        there = tx.records.outlines(revision.entities)
        wanted = (records, [each for each in edges if each.target_id in there])
        kept = keeping.keep(tx, place, wanted, (revision.notes, revision.note_relations))
        revision.notes, revision.note_relations = kept.entities, kept.relations
        revision.unavailable = revision.with_unavailable(())
        keeping.write_revision(tx, place.memory_id, revision)
        return {"published": kept.written_entities, "notes": len(kept.entities)}


def _latest(host: JobHost, running: RunningJob) -> Revision | None:
    memory_id = memory_id_of(str(running.job.payload["manifest_id"]))
    revision = Revision.read(host.ledger.payloads.text(running.job.organization_id, memory_id, REVISION))
    return revision if revision is not None and revision.content_hash == running.job.payload["content_hash"] else None


@contextmanager
def _current(host: JobHost, running: RunningJob) -> Iterator[tuple[Transaction, Place, Revision] | None]:
    job, payload = running.job, running.job.payload
    manifest, project_id = str(payload["manifest_id"]), str(payload["project_id"])
    with host.ledger.transaction(job.organization_id, job.actor_id, deferred=True) as tx:
        tx.jobs.require(job)
        caller = present_rights(host.ledger, host.clock, job, payload.get("grant_id"))
        revision = keeping.read_revision(tx, memory_id_of(manifest))
        found = None
        if caller is not None and revision is not None and revision.content_hash == payload["content_hash"]:
            try:
                require_live(project_id, tx.records.entity(project_id))
                place = place_of(caller, project_id, memory_id_of(manifest))
                found = (tx, place, revision) if bound_memory(tx, caller, manifest, project_id) is not None else None
            except (Forbidden, NotFound, Conflict):
                found = None
        yield found


FUNCTIONS = (JobFunction(EMBED, complete_embeddings, needs_server=True), JobFunction(DISTILL, distil_notes))
