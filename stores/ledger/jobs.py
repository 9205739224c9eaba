"""Job queue: enqueued with the write that a job belongs to, leased to workers, fenced by tokens."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, BindParameter, Connection, bindparam, delete, func, insert, select, tuple_, update

from stores.clock import Clock
from stores.errors import Conflict, NotFound
from stores.jobs import Job, JobDraft, JobNotice, JobState
from stores.ledger import schema
from stores.ledger.columns import columns_of
from stores.ledger.encoding import (
    check_id,
    check_keys,
    dump_json,
    from_micros,
    load_object,
    optional_instant,
    to_micros,
)
from stores.ledger.engine import Database, in_chunks
from stores.ledger.rows import Values
from stores.ledger.store import Cells, Store
from stores.ledger.writing import Writes
from stores.records import JsonObject

JOB_LEASE_S = 30.0
JOBS_KEPT = timedelta(hours=24)

JobListener = Callable[[JobNotice], None]

_jobs = schema.jobs
_columns = columns_of(_jobs, Job)
_ids: BindParameter[str] = bindparam("ids", expanding=True)
_functions: BindParameter[str] = bindparam("functions", expanding=True)
_of_organization = _jobs.c.organization_id == bindparam("organization")
_one = (_of_organization, _jobs.c.id == bindparam("job"))
_locked = select(*_columns).where(*_one).with_for_update()
_update = update(_jobs).where(*_one).returning(*_columns)
_by_ids = select(*_columns).where(_of_organization, _jobs.c.id.in_(_ids))
_listed = (
    select(*_columns)
    .where(_of_organization, _jobs.c.visibility.in_(bindparam("keys", expanding=True)))
    .order_by(_jobs.c.created_at.desc(), _jobs.c.id)
)
_due = (
    select(_jobs.c.organization_id, _jobs.c.id)
    .where(_jobs.c.due_at <= bindparam("now", type_=BigInteger), _jobs.c.function.in_(_functions))
    .order_by(_jobs.c.due_at)
    .limit(bindparam("limit"))
)
_next_due = select(func.min(_jobs.c.due_at)).where(_jobs.c.due_at.is_not(None), _jobs.c.function.in_(_functions))
_NEW: Values = dict.fromkeys(("done", "total", "result", "error", "started_at", "finished_at")) | {
    "state": "queued",
    "holder": "",
    "attempts": 0,
    "again": False,
}


class Jobs(Store):
    """Jobs of all organizations. The caller checks permissions."""

    def __init__(self, database: Database, clock: Clock, listeners: list[JobListener]) -> None:
        super().__init__(database, clock)
        self._listeners = listeners

    def take(self, holder: str, functions: Collection[str], limit: int, lease_s: float = JOB_LEASE_S) -> list[Job]:
        """Lease due jobs, those of lost workers included. Writes nothing if none is due."""
        values: Values = {"functions": list(functions), "limit": limit, "now": to_micros(self._clock())}
        if self._first(_due, values) is None:
            return []
        with self._database.write() as connection:
            now = self._clock()
            values["now"] = to_micros(now)
            found = [tuple(row) for row in connection.execute(_due.with_for_update(skip_locked=True), values)]
            leased: Values = {
                "state": "in_progress",
                "holder": holder,
                "token": _jobs.c.token + 1,
                "attempts": _jobs.c.attempts + 1,
                "due_at": to_micros(now + timedelta(seconds=lease_s)),
                "started_at": to_micros(now),
            }
            wanted = tuple_(_jobs.c.organization_id, _jobs.c.id).in_(found)
            rows = connection.execute(update(_jobs).where(wanted).values(leased).returning(*_columns)).all()
        taken = {(job.organization_id, job.id): job for job in (_to_job(row, now) for row in rows)}
        return [self._told(taken[key]) for key in found]

    def renew(
        self, job: Job, done: int | None = None, total: int | None = None, *, lease_s: float = JOB_LEASE_S
    ) -> Job:
        """Prolong a lease from now on and store the progress; Conflict if it was lost or the job cancelled."""
        values: Values = {name: value for name, value in (("done", done), ("total", total)) if value is not None}
        return self._change(job, values | {"due_at": self._in(lease_s)})

    def finish(self, job: Job, result: JsonObject | None = None) -> Job:
        """Complete a job; one that was enqueued meanwhile is queued again. Conflict as in `renew`."""
        return self._told(self._end(job, {"state": "complete", "result": dump_json(result or {}), "error": None}))

    def fail(self, job: Job, error: str, retry_in_s: float | None) -> Job:
        """Queue the next attempt, or give up if `retry_in_s` is None. Conflict as in `renew`."""
        if retry_in_s is None:
            return self._told(self._end(job, {"state": "failed", "error": error}))
        return self._told(self._change(job, {"state": "queued", "due_at": self._in(retry_in_s), "error": error}))

    def put_back(self, job: Job, delay_s: float = 0) -> Job:
        """Queue a job again whose worker stops, or that waits; the attempt does not count. Conflict as in `renew`."""
        return self._told(
            self._change(job, {"state": "queued", "due_at": self._in(delay_s), "attempts": _jobs.c.attempts - 1})
        )

    def cancel(self, organization_id: str, job_id: str) -> Job:
        """End a job; its worker notices at the next `renew`, and cannot commit.

        Raises:
            NotFound: There is none.
            Conflict: It has ended otherwise.
        """
        with self._database.write() as connection:
            now = self._clock()
            job = _lock(connection, organization_id, job_id, now)
            if job is None:
                raise NotFound(f"There is no job {job_id}.")
            if job.state == "cancelled":
                return job
            if job.due_at is None:
                raise Conflict(
                    f"Job {job_id} has ended: {job.state}.",
                    remediation="Nothing is left to cancel; read its result with GET /api/jobs/{job_id}.",
                )
            ended = {"state": "cancelled", "token": _jobs.c.token + 1, "due_at": None, "finished_at": to_micros(now)}
            job = _changed(connection, job, ended, now)
        return self._told(job)

    def find(self, organization_id: str, job_ids: Iterable[str]) -> dict[str, Job]:
        """Return the existing ones of these jobs by id."""
        now = self._clock()
        found = [
            row
            for ids in in_chunks(job_ids)
            for row in self._all(_by_ids, {"organization": organization_id, "ids": ids})
        ]
        return {row.id: _to_job(row, now) for row in found}

    def page(
        self, organization_id: str, keys: Collection[str], state: JobState | None, limit: int, offset: int
    ) -> list[Job]:
        """Return jobs with one of the visibility keys, newest first."""
        now = self._clock()
        statement = _listed.limit(limit).offset(offset)
        if state is not None:
            statement = statement.where(_jobs.c.state == ("queued" if state == "deferred" else state))
        if state in ("queued", "deferred"):
            is_later = _jobs.c.due_at > to_micros(now)
            statement = statement.where(is_later if state == "deferred" else ~is_later)
        return [
            _to_job(row, now) for row in self._all(statement, {"organization": organization_id, "keys": list(keys)})
        ]

    def next_due(self, functions: Collection[str]) -> datetime | None:
        """Return when the next job is due or the next lease ends; None without open jobs."""
        found = self._first(_next_due, {"functions": list(functions)})
        return optional_instant(found[0] if found is not None else None)

    def release_holder(self, holder: str) -> int:
        """Queue everything that a dead process was running; return how many."""
        held = update(_jobs).where(_jobs.c.holder == holder, _jobs.c.state == "in_progress")
        with self._database.write() as connection:
            return connection.execute(held.values(state="queued", due_at=self._in(0))).rowcount

    def prune(self) -> int:
        """Delete jobs that ended more than `JOBS_KEPT` ago; return how many."""
        over = delete(_jobs).where(_jobs.c.due_at.is_(None), _jobs.c.finished_at < to_micros(self._clock() - JOBS_KEPT))
        with self._database.write() as connection:
            return connection.execute(over).rowcount

    def _in(self, seconds: float) -> int:
        return to_micros(self._clock() + timedelta(seconds=seconds))

    def _end(self, job: Job, values: Values) -> Job:
        now = self._in(0)
        return self._change(
            job, values | {"due_at": None, "finished_at": now}, _NEW | {"created_at": now, "due_at": now}
        )

    def _change(self, job: Job, values: Values, if_again: Values | None = None) -> Job:
        with self._database.write() as connection:
            now = self._clock()
            held = _require(connection, job, now)
            return _changed(connection, job, if_again if if_again and held.again else values, now)

    def _told(self, job: Job) -> Job:
        for listener in self._listeners:
            listener(notice_of(job, self._clock()))
        return job


class JobWrites(Writes):
    """Jobs of a transaction, queued if it commits. They add nothing to the feed."""

    def enqueue(self, draft: JobDraft) -> None:
        """Queue a job; of one that is queued, replace payload and actor.

        One that runs is run once more afterwards; one that has ended is queued anew.
        """
        check_id(draft.id)
        check_keys((draft.function, draft.visibility, draft.actor_id, draft.api_key_id))
        values: Values = {
            "function": draft.function,
            "payload": dump_json(draft.payload),
            "visibility": draft.visibility,
            "actor_id": draft.actor_id or self.actor_id,
            "api_key_id": draft.api_key_id,
        }
        due_at = to_micros(self.now + timedelta(seconds=draft.delay_s))
        job = _lock(self._connection, self.organization_id, draft.id, self.now)
        new = values | _NEW | {"created_at": to_micros(self.now), "due_at": due_at}
        if job is None:
            row = self._run(
                insert(_jobs)
                .values(new | {"organization_id": self.organization_id, "id": draft.id, "token": 0})
                .returning(*_columns),
                {},
            ).one()
            job = _to_job(row, self.now)
        elif job.due_at is None:
            job = _changed(self._connection, job, new, self.now)
        elif job.state == "in_progress":
            _changed(self._connection, job, values | {"again": True}, self.now)
            return
        else:
            sooner = min(due_at, to_micros(job.due_at))
            job = _changed(self._connection, job, values | {"due_at": sooner}, self.now)
        self._writing.notices.append(notice_of(job, self.now))

    def require(self, job: Job) -> None:
        """Raise Conflict if the lease was lost or the job cancelled; neither can happen before the commit."""
        _require(self._connection, job, self.now)


def notice_of(job: Job, at: datetime) -> JobNotice:
    return JobNotice(job.organization_id, job.id, job.function, job.state, job.visibility, at)


def _lock(connection: Connection, organization_id: str, job_id: str, now: datetime) -> Job | None:
    row = connection.execute(_locked, {"organization": organization_id, "job": job_id}).first()
    return None if row is None else _to_job(row, now)


def _require(connection: Connection, job: Job, now: datetime) -> Job:
    held = _lock(connection, job.organization_id, job.id, now)
    if held is None or held.state != "in_progress" or held.token != job.token:
        is_cancelled = held is not None and held.state == "cancelled"
        raise Conflict(f"Job {job.id} was {'cancelled' if is_cancelled else 'taken over'}; nothing was changed.")
    return held


def _changed(connection: Connection, job: Job, values: Values, now: datetime) -> Job:
    identity = {"organization": job.organization_id, "job": job.id}
    return _to_job(connection.execute(_update.values(values), identity).one(), now)


def _to_job(row: Cells, now: datetime) -> Job:
    cells: dict[str, Any] = dict(row._mapping)
    for name in ("due_at", "started_at", "finished_at"):
        cells[name] = optional_instant(cells[name])
    cells["created_at"] = from_micros(cells["created_at"])
    cells["payload"] = load_object(cells["payload"])
    cells["result"] = None if cells["result"] is None else load_object(cells["result"])
    job = Job(**cells)
    is_later = job.state == "queued" and job.due_at is not None and job.due_at > now
    return replace(job, state="deferred") if is_later else job
