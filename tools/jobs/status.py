"""Status and cancellation of jobs, and the job that rebuilds indexes."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from auth.policy import ADMINS
from stores.errors import Forbidden, NotFound
from stores.indexer.options import NAMES
from stores.jobs import Job, JobDraft, JobState
from stores.records import JsonObject
from tools.app import App
from tools.frame.operation import WRITERS, Call, Filters, Method, Request, Result, Route, Verb, entry, mutation
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob
from tools.people.account import MeRequest
from tools.runtime.housekeeping import TIDYING, TIDYING_S, tidy

REINDEX = "reindex"
JobId = Annotated[str, StringConstraints(min_length=1, max_length=400)]


class JobView(Result):
    """One job."""

    job_id: str
    function: str = Field(description="Kind of work; `unknown` if there is no such job.")
    status: JobState | Literal["not_found"] = Field(
        description="`deferred` waits for its time or for the next attempt after a failure."
    )
    progress: dict[str, int | None] | None = Field(None, description="Steps: `done` of `total`.")
    attempts: int = Field(0, description="Times that it was begun.")
    result: JsonObject | None = None
    error: str | None = Field(None, description="Reason of the last failed attempt.")
    enqueue_time: datetime | None = None
    start_time: datetime | None = None
    finish_time: datetime | None = None


def _distinct(given: Any) -> Any:
    return list(dict.fromkeys(given)) if isinstance(given, list) and {*map(type, given)} == {str} else given


class JobStatusRequest(Request):
    """Up to 64 jobs."""

    job_ids: Annotated[list[JobId], Field(min_length=1, max_length=64), BeforeValidator(_distinct)] = Field(
        description="Ids of jobs; repeated ones count once."
    )


class JobStatusView(Result):
    """Status by job id."""

    jobs: dict[str, JobView]


class JobRequest(Request):
    """One job."""

    job_id: JobId = Field(description="Id of the job.")


class ListJobsRequest(Filters):
    """Select jobs."""

    status: JobState | None = Field(None, description="Only jobs with this status.")
    limit: int = Field(50, ge=1, le=200, description="Most jobs.")
    offset: int = Field(0, ge=0, le=100_000, description="Jobs to leave out, from the newest.")


class JobsView(Result):
    """Jobs, newest first."""

    jobs: list[JobView]
    has_more: bool


@entry(Route("POST", "/api/jobs/status", tag="jobs"), roles=WRITERS)
def job_status(app: App, call: Call, request: JobStatusRequest) -> JobStatusView:
    """Return the status of up to 64 jobs by id."""
    found = _visible(app, call, request.job_ids)
    return JobStatusView(jobs={each: _view(each, found.get(each)) for each in request.job_ids})


@entry(Route("GET", "/api/jobs", tag="jobs"), roles=WRITERS)
def list_jobs(app: App, call: Call, request: ListJobsRequest) -> JobsView:
    """List the jobs that the caller may see, newest first; ended ones are kept for 24 hours."""
    caller, limit = call.caller, request.limit
    found = app.ledger.jobs.page(caller.organization_id, caller.readable, request.status, limit + 1, request.offset)
    jobs = [_view(job.id, job) for job in found[:limit]]
    return JobsView(jobs=jobs, has_more=len(found) > limit)


@entry(Route("GET", "/api/jobs/{job_id}", tag="jobs", errors=(404,)), roles=WRITERS)
def get_job(app: App, call: Call, request: JobRequest) -> JobView:
    """Return the status of one job."""
    return _view(request.job_id, _present(app, call, request.job_id))


def _ending(name: str, method: Method, path: str) -> Callable[[Verb], Verb]:
    route = Route(method, path, tag="jobs", errors=(404,))
    return mutation(route, name=name, roles=WRITERS, events=("job_cancelled",))


@_ending("delete_job", "DELETE", "/api/jobs/{job_id}")
@_ending("cancel_job", "POST", "/api/jobs/{job_id}/cancel")
def cancel_job(app: App, call: Call, request: JobRequest) -> JobView:
    """Cancel a job unless it has ended; its author, owners and admins may."""
    job = _present(app, call, request.job_id)
    if call.caller.user_id != job.actor_id and call.caller.role not in ADMINS:
        raise Forbidden("Only its author, an owner or an admin may cancel a job.", remediation="Ask one of them.")
    return _view(request.job_id, app.ledger.jobs.cancel(job.organization_id, job.id))


@mutation(Route("POST", "/api/admin/reindex", status=202, tag="jobs"), roles=ADMINS)
def reindex(app: App, call: Call, _request: MeRequest) -> JobView:
    """Rebuild the indexes of the organization from the ledger, one after the other; searches go on meanwhile."""
    with app.ledger.transaction(call.caller.organization_id, call.caller.user_id, claim=call.claim) as tx:
        tx.jobs.enqueue(JobDraft(REINDEX, REINDEX))
    return get_job(app, call, JobRequest(job_id=REINDEX))


def rebuild(host: JobHost, running: RunningJob) -> JsonObject:
    for done, name in enumerate(NAMES, start=1):
        host.app.indexer.reindex(running.job.organization_id, [name])
        running.progress(done, len(NAMES))
    return {"indexes": [*NAMES]}


def keep_tidy(host: JobHost, _running: RunningJob) -> JsonObject:
    tidy(host.ledger, host.app.indexer, host.clock)
    raise NotYet(TIDYING_S)


def _visible(app: App, call: Call, job_ids: list[str]) -> dict[str, Job]:
    found = app.ledger.jobs.find(call.caller.organization_id, job_ids)
    return {job_id: job for job_id, job in found.items() if job.visibility in call.caller.readable}


def _present(app: App, call: Call, job_id: str) -> Job:
    job = _visible(app, call, [job_id]).get(job_id)
    if job is None:
        raise NotFound(
            f"There is no job {job_id}.", remediation="List the jobs with GET /api/jobs; ended ones go after 24 hours."
        )
    return job


def _view(job_id: str, job: Job | None) -> JobView:
    if job is None:
        return JobView(job_id=job_id, function="unknown", status="not_found")
    times = {"enqueue_time": job.created_at, "start_time": job.started_at, "finish_time": job.finished_at}
    progress = None if job.done is job.total is None else {"done": job.done, "total": job.total}
    return JobView.of(job, job_id=job.id, status=job.state, progress=progress, **times)


FUNCTIONS = (JobFunction(REINDEX, rebuild, needs_server=True), JobFunction(TIDYING, keep_tidy, needs_server=True))
