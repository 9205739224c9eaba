"""Deferred work on an experience: completing its manifest once it is embedded, distilling notes.

Each job writes only for the revision that it was queued for, with the present rights of whoever asked for it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from auth.api_keys import present_rights
from stores.errors import Conflict, Forbidden, NotFound
from stores.ledger import Transaction
from stores.records import JsonObject
from tools.experience.keeping import (
    EVIDENCE,
    OUTLINE,
    REVISION,
    Place,
    Revision,
    keep,
    memory_id_of,
    place_of,
    read_revision,
    write_revision,
)
from tools.experience.notes import notes
from tools.experience.publishing import DISTILL, EMBED, bound_memory
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob
from tools.records.projects import require_live
from tools.runtime.threads import in_thread

WAIT_S = 2.0
AGAIN_S = 5.0
STALE: JsonObject = {"published": 0}


class Source(NamedTuple):
    """Source of a job whose revision is the latest, in an open transaction."""

    tx: Transaction
    place: Place
    manifest_id: str
    revision: Revision


@contextmanager
def current(host: JobHost, running: RunningJob) -> Iterator[Source | None]:
    """Open a transaction for a job; yield None if its actor lost the right, or its revision is not the latest."""
    job, manifest = running.job, str(running.payload["manifest_id"])
    with host.ledger.transaction(job.organization_id, job.actor_id, deferred=True) as tx:
        tx.jobs.require(job)
        caller = present_rights(host.ledger, host.clock, job.organization_id, job.actor_id, job.api_key_id)
        revision = read_revision(tx, memory_id_of(manifest))
        if caller is None or revision is None or revision.content_hash != running.payload["content_hash"]:
            yield None
            return
        project_id = str(running.payload["project_id"])
        try:
            require_live(project_id, tx.records.entity(project_id))
            place = place_of(caller, project_id, memory_id_of(manifest))
            memory = bound_memory(tx, caller, manifest, project_id)
        except (Forbidden, NotFound, Conflict):
            memory = None
        yield None if memory is None else Source(tx, place, manifest, revision)


async def complete_embeddings(host: JobHost, running: RunningJob) -> JsonObject:
    """Wait until every healthy index shows the records of a revision, then mark its manifest as complete."""
    indexer, organization = host.indexer, running.job.organization_id
    known = await in_thread(_revision, host, running)
    if known is None or indexer is None:
        return STALE
    head = (await in_thread(host.ledger.feed.head, organization)).sequence
    if await indexer.applied_within(organization, head, [*known.entities], WAIT_S):
        # Others take its turn: a model reads a megabyte in a minute.
        raise NotYet(AGAIN_S)
    return await in_thread(_complete, host, running)


def _revision(host: JobHost, running: RunningJob) -> Revision | None:
    memory_id = memory_id_of(str(running.payload["manifest_id"]))
    revision = Revision.read(host.ledger.payloads.text(running.job.organization_id, memory_id, REVISION))
    return revision if revision is not None and revision.content_hash == running.payload["content_hash"] else None


def _complete(host: JobHost, running: RunningJob) -> JsonObject:
    with current(host, running) as source:
        if source is None:
            return STALE
        revision = source.revision
        if revision.state != "complete" and source.tx.records.outlines([source.manifest_id]):
            source.tx.records.update_entity(
                source.manifest_id, lambda each: replace(each, metadata=each.metadata | {"state": "complete"})
            )
            revision.state = "complete"
            write_revision(source.tx, source.place.memory_id, revision)
            return {"published": 1, "entities": len(revision.entities)}
    return {"published": 0, "entities": len(revision.entities)}


async def distil_notes(host: JobHost, running: RunningJob) -> JsonObject:
    """Publish the notes of a revision; those that are there already are left."""
    return await in_thread(_distil, host, running)


def _distil(host: JobHost, running: RunningJob) -> JsonObject:
    organization, manifest = running.job.organization_id, str(running.payload["manifest_id"])
    memory_id, payloads = memory_id_of(manifest), host.ledger.payloads
    told = payloads.text(organization, memory_id, OUTLINE)
    if told is None or _revision(host, running) is None:
        return STALE
    # Read before the transaction, which holds only if the revision is still the same.
    wanted = notes(
        json.loads(told), lambda place: payloads.text(organization, memory_id, EVIDENCE + place) or "", manifest
    )
    with current(host, running) as source:
        if source is None:
            return STALE
        revision = source.revision
        sessions = set(source.tx.records.outlines(revision.entities))
        records, edges = wanted
        edges = [each for each in edges if each.target_id in sessions]
        known = (revision.notes, revision.note_relations)
        kept = keep(source.tx, source.place, (records, edges), known, revision.number)
        revision.notes, revision.note_relations = kept.entities, kept.relations
        gone = dict.fromkeys([*revision.unavailable, *kept.retired_entities])
        revision.unavailable = [each for each in gone if each not in kept.entities]
        if kept.changes:
            write_revision(source.tx, source.place.memory_id, revision)
    return {"published": kept.written_entities, "notes": len(kept.entities)}


FUNCTIONS = (JobFunction(EMBED, complete_embeddings, needs_indexes=True), JobFunction(DISTILL, distil_notes))
