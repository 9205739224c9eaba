"""The job that reports when erased words have left every file."""

from auth.visibility import entity_key
from stores.jobs import JobDraft
from stores.records import Entity, JsonObject
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob

ERASE = "erase_memories"
AGAIN_S = 2.0


def erasure_of(record: Entity) -> JobDraft:
    """Return the job to enqueue with the erasure of words of a record; its readers see it."""
    return JobDraft(f"{ERASE}:{record.id}", ERASE, visibility=entity_key(record.visibility))


def erase(host: JobHost, running: RunningJob) -> JsonObject:
    """Wait until the indexes have dropped removed records, then empty the write-ahead log."""
    organization, indexer = running.job.organization_id, host.app.indexer
    head = host.ledger.feed.head(organization).sequence
    if indexer.wait_applied(organization, head, (), AGAIN_S) or indexer.is_tidying(organization):
        raise NotYet(AGAIN_S)
    host.ledger.checkpoint()
    return {"erased": True}


FUNCTIONS = (JobFunction(ERASE, erase, needs_server=True),)
