"""Job queue, with leases and fencing tokens across processes."""

from collections.abc import Callable, Collection
from dataclasses import asdict
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, func, insert, select, tuple_, update

from stores.clock import Clock
from stores.errors import Conflict
from stores.jobs import Job, JobDraft, JobNotice, JobState
from stores.ledger import schema
from stores.ledger.columns import RecordTable, check_cells
from stores.ledger.encoding import Values, dump_json, optional_instant, to_micros
from stores.ledger.engine import Database
from stores.ledger.store import Store, Writes, Writing
from stores.records import JsonObject

JOB_LEASE_S = 30.0
JOBS_KEPT = timedelta(hours=24)

JobListener = Callable[[JobNotice], None]

_jobs = schema.jobs
_JOBS = RecordTable(_jobs, Job, "-created_at", "id")
_EMPTY: Values = dict.fromkeys(("done", "total", "result", "error", "started_at", "finished_at"))
_NEW: Values = _EMPTY | {"state": "queued", "attempts": 0, "again": False}


class Jobs(Store):
    """Jobs of all organizations. The caller checks permissions."""

    def __init__(self, database: Database, clock: Clock, tell: JobListener) -> None:
        super().__init__(database, clock)
        self._tell = tell

    def take(self, holder: str, functions: Collection[str], limit: int, lease_s: float = JOB_LEASE_S) -> list[Job]:
        """Lease due jobs, also those with an expired lease."""
        identity = (_jobs.c.organization_id, _jobs.c.id)
        due = (
            select(*identity)
            .where(_jobs.c.due_at <= self._in(0), _jobs.c.function.in_(functions))
            .order_by(_jobs.c.due_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        with self._database.write() as connection:
            found = [tuple(row) for row in connection.execute(due)]
            leased = update(_jobs).where(tuple_(*identity).in_(found)).returning(*_JOBS.columns)
            counted = {"token": _jobs.c.token + 1, "attempts": _jobs.c.attempts + 1}
            times = {"due_at": self._in(lease_s), "started_at": self._in(0)}
            rows = connection.execute(leased.values(state="in_progress", holder=holder, **counted, **times)).all()
        return [self._told(_JOBS.read(row)) for row in rows]

    def renew(self, job: Job, done: int | None = None, total: int | None = None, lease_s: float = JOB_LEASE_S) -> Job:
        """Prolong the lease and store the progress; Conflict if it was lost or the job cancelled."""
        progress = {name: value for name, value in (("done", done), ("total", total)) if value is not None}
        renewed = self._change(job, {"due_at": self._in(lease_s), **progress})
        if progress:
            self._tell(notice_of(renewed, self._clock())._replace(done=renewed.done or 0, total=renewed.total))
        return renewed

    def finish(self, job: Job, result: JsonObject) -> Job:
        """Complete a job, or queue it again if it was enqueued meanwhile. Conflict as in `renew`."""
        return self._end(job, {"state": "complete", "result": dump_json(result), "error": None})

    def fail(self, job: Job, error: str, retry_in_s: float | None) -> Job:
        """Defer to the next attempt, or give up if `retry_in_s` is None. Conflict as in `renew`."""
        if retry_in_s is None:
            return self._end(job, {"state": "failed", "error": error})
        return self._told(self._change(job, {"state": "deferred", "due_at": self._in(retry_in_s), "error": error}))

    def defer(self, job: Job, delay_s: float) -> Job:
        """Put back a job that waits for something; the attempt does not count. Conflict as in `renew`."""
        waiting = {"state": "deferred", "due_at": self._in(delay_s), "attempts": _jobs.c.attempts - 1}
        return self._told(self._change(job, waiting))

    def cancel(self, organization_id: str, job_id: str) -> Job | None:
        """Cancel a job unless it has ended; its worker is fenced off."""
        with self._database.write() as connection:
            job = _lock(connection, organization_id, job_id)
            if job is None or job.due_at is None:
                return job
            now = self._in(0)
            cancelled = {"state": "cancelled", "token": _jobs.c.token + 1, "due_at": None, "finished_at": now}
            job = _changed(connection, job, cancelled)
        return self._told(job)

    def find(self, organization_id: str, job_ids: Collection[str]) -> dict[str, Job]:
        found = self._list(_JOBS, _jobs.c.id.in_(job_ids), organization_id=organization_id)
        return {job.id: job for job in found}

    def page(
        self, organization_id: str, keys: Collection[str], state: JobState | None, limit: int, offset: int
    ) -> list[Job]:
        in_state = {} if state is None else {"state": state}
        statement = _JOBS.select(_jobs.c.visibility.in_(keys), organization_id=organization_id, **in_state)
        return [_JOBS.read(row) for row in self._all(statement.limit(limit).offset(offset))]

    def next_due(self, functions: Collection[str]) -> datetime | None:
        """Return when a job is due or a lease ends next."""
        waiting = (_jobs.c.due_at.is_not(None), _jobs.c.function.in_(functions))
        found = self._first(select(func.min(_jobs.c.due_at)).where(*waiting))
        return optional_instant(found[0] if found is not None else None)

    def release_holder(self, holder: str, *, crashed: bool = True) -> int:
        """Queue the running jobs of a process; their attempt counts if it crashed."""
        held = update(_jobs).where(_jobs.c.holder == holder, _jobs.c.state == "in_progress")
        queued = {"state": "queued", "due_at": self._in(0), "attempts": _jobs.c.attempts - (0 if crashed else 1)}
        with self._database.write() as connection:
            rows = connection.execute(held.values(queued).returning(*_JOBS.columns)).all()
        return len([self._told(_JOBS.read(row)) for row in rows])

    def prune(self) -> int:
        over = delete(_jobs).where(_jobs.c.due_at.is_(None), _jobs.c.finished_at < to_micros(self._clock() - JOBS_KEPT))
        with self._database.write() as connection:
            return connection.execute(over).rowcount

    def _in(self, seconds: float) -> int:
        return to_micros(self._clock() + timedelta(seconds=seconds))

    def _end(self, job: Job, values: Values) -> Job:
        now = self._in(0)
        again = _NEW | {"created_at": now, "due_at": now}
        return self._told(self._change(job, values | {"due_at": None, "finished_at": now}, again))

    def _change(self, job: Job, values: Values, if_again: Values | None = None) -> Job:
        with self._database.write() as connection:
            held = _require(connection, job)
            return _changed(connection, job, if_again if if_again and held.again else values)

    def _told(self, job: Job) -> Job:
        self._tell(notice_of(job, self._clock()))
        return job


class JobWrites(Writes):
    def __init__(self, writing: Writing) -> None:
        super().__init__(writing)
        self.notices: list[JobNotice] = []

    def enqueue(self, draft: JobDraft) -> None:
        """Queue a job, or renew the draft of one that is queued; one in progress runs once more afterwards."""
        job = _lock(self._connection, self.organization_id, draft.id)
        due_at = self.now + timedelta(seconds=draft.delay_s)
        values: Values = asdict(draft) | {
            "payload": dump_json(draft.payload),
            "actor_id": draft.actor_id or self.actor_id,
        }
        del values["delay_s"]
        check_cells(_jobs, values)
        if job is not None and job.state == "in_progress":
            _changed(self._connection, job, values | {"again": True})
            return
        if job is not None and job.due_at is not None and job.due_at <= due_at:
            _changed(self._connection, job, values)
            return
        values |= _NEW | {"created_at": to_micros(self.now), "due_at": to_micros(due_at)}
        values["state"] = "deferred" if draft.delay_s > 0 else "queued"
        if job is None:
            values |= {"organization_id": self.organization_id, "holder": "", "token": 0}
            job = _JOBS.read(self._run(insert(_jobs).values(values).returning(*_JOBS.columns), {}).one())
        else:
            job = _changed(self._connection, job, values)
        self.notices.append(notice_of(job, self.now))

    def require(self, job: Job) -> None:
        """Raise Conflict if the lease was lost or the job cancelled; lock the job until the commit."""
        _require(self._connection, job)


def notice_of(job: Job, at: datetime) -> JobNotice:
    return JobNotice(job.organization_id, job.id, job.function, job.state, job.visibility, at.isoformat())


def _lock(connection: Connection, organization_id: str, job_id: str) -> Job | None:
    return _JOBS.one(connection, lock=True, organization_id=organization_id, id=job_id)


def _require(connection: Connection, job: Job) -> Job:
    held = _lock(connection, job.organization_id, job.id)
    if held is None or held.state != "in_progress" or held.token != job.token:
        how = "cancelled" if held is not None and held.state == "cancelled" else "taken over"
        raise Conflict(f"Job {job.id} was {how}; nothing was changed.")
    return held


def _changed(connection: Connection, job: Job, values: Values) -> Job:
    change = update(_jobs).where(*_JOBS.where(organization_id=job.organization_id, id=job.id))
    return _JOBS.read(connection.execute(change.values(values).returning(*_JOBS.columns)).one())
