"""Event hub: sends events of the change feed to authorized subscribers."""

import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import anyio
import structlog
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from auth.principal import Principal
from stores.jobs import JobNotice
from stores.ledger.feed import FeedReads
from stores.records import RAW_MEMORY, Change, JsonObject
from tools.frame.threads import in_thread

BUFFER = 256
PATIENCE_S = 2.0
"""Seconds to wait for a subscriber with a half full buffer."""
PAGE = 500
POLL_S = 1.0
"""Seconds between two reads of the feed, for commits of other processes."""

JOB_EVENTS = {"in_progress": "job_started", "complete": "job_completed", "deferred": "job_queued"}
CRAWL_EVENTS = {"crawl_source": "crawl_complete", "sync_source": "crawl_sync_complete"}
"""Event at the end, by job function."""
OF_NOTES = {"entity_pending": "note_pending", "entity_created": "note_created"}

log = structlog.get_logger("events")


@dataclass(frozen=True, slots=True)
class Event:
    """A change of one record, without any of its text."""

    name: str
    data: JsonObject
    timestamp: datetime


@dataclass(slots=True)
class Subscription:
    """One subscriber; `principal` has its present rights."""

    principal: Principal
    _send: MemoryObjectSendStream[Event]
    _receive: MemoryObjectReceiveStream[Event]
    is_over: bool = False
    """Set when it is cut off; queued events can still be read."""
    signed_out: bool = False

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._receive.__aiter__()

    def offer(self, event: Event, visibility: str, earlier: Principal | None = None) -> None:
        """Queue an event that the principal or `earlier` may read; cut off if full."""
        listeners = [self.principal, *([earlier] if earlier is not None else [])]
        may = any(visibility in each.visible or visibility in each.captures for each in listeners)
        if self.is_over or not may:
            return
        try:
            self._send.send_nowait(event)
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self.cut_off()

    @property
    def is_behind(self) -> bool:
        return not self.is_over and self._send.statistics().current_buffer_used > BUFFER // 2

    def cut_off(self, *, signed_out: bool = False) -> None:
        self.signed_out = self.signed_out or signed_out
        self.is_over = True
        self._send.close()


@dataclass(slots=True)
class _Channel:
    cursor: int
    subscribers: list[Subscription] = field(default_factory=list)
    awaiting: dict[str, Change] = field(default_factory=dict)
    jobs: deque[JobNotice] = field(default_factory=deque)


def _has_expired(now: datetime, principal: Principal) -> bool:
    return principal.until is not None and principal.until <= now


class EventHub:
    def __init__(
        self,
        feed: FeedReads,
        applied: Callable[[str, int], bool],
        renewed: Callable[[Principal], Principal | None] = lambda principal: principal,
    ) -> None:
        self._feed = feed
        self._applied = applied
        self._renewed = renewed
        """Returns the principal with its present rights, or None if the session has ended. Blocks."""
        self._channels: dict[str, _Channel] = {}
        self._bell = anyio.Event()

    @contextlib.asynccontextmanager
    async def subscribe(self, principal: Principal) -> AsyncIterator[Subscription]:
        """Receive the events of the principal's organization from now on."""
        organization_id = principal.organization_id
        send, receive = anyio.create_memory_object_stream[Event](BUFFER)
        subscription = Subscription(principal, send, receive)
        if organization_id not in self._channels:
            head = await in_thread(self._feed.head, organization_id)
            self._channels.setdefault(organization_id, _Channel(head.sequence))
            # Commits since the head was read rang no bell.
            self.ring()
        channel = self._channels[organization_id]
        channel.subscribers.append(subscription)
        try:
            yield subscription
        finally:
            channel.subscribers.remove(subscription)
            if not channel.subscribers and self._channels.get(organization_id) is channel:
                del self._channels[organization_id]
            send.close()
            receive.close()

    async def announce(self, organization_id: str, told: Iterable[tuple[Event, str]]) -> None:
        """Renew the rights of subscribers, and send events with their visibility keys.

        Who loses the right to read an event receives it as the last one.
        """
        if (channel := self._channels.get(organization_id)) is None:
            return
        listeners = [(each, each.principal) for each in channel.subscribers]
        over = [each for each, earlier in listeners if not await self._renew_one(each, earlier)]
        for event, visibility in told:
            for subscription, earlier in listeners:
                subscription.offer(event, visibility, earlier)
            await _let_read(channel)
        for subscription in over:
            subscription.cut_off(signed_out=True)

    async def renew(self, organization_id: str) -> None:
        if (channel := self._channels.get(organization_id)) is not None:
            await self._renew(channel)

    async def renew_user(self, user_id: str) -> None:
        for channel in list(self._channels.values()):
            await self._renew(channel, lambda each: each.user_id == user_id)

    def follows(self, organization_id: str) -> bool:
        return organization_id in self._channels

    def ring(self) -> None:
        """Wake the hub after a commit; call it on the event loop."""
        self._bell.set()

    def tell_job(self, notice: JobNotice) -> None:
        if (channel := self._channels.get(notice.organization_id)) is not None:
            channel.jobs.append(notice)

    async def run(self) -> None:
        while True:
            with anyio.move_on_after(POLL_S):
                await self._bell.wait()
            self._bell = anyio.Event()
            for organization_id, channel in list(self._channels.items()):
                await self._tell(organization_id, channel)
                await self._tell_jobs(channel)

    async def _tell(self, organization_id: str, channel: _Channel) -> None:
        while changes := await in_thread(self._feed.changes, organization_id, channel.cursor, PAGE):
            if any(change.entity_type == "project" for change in changes):
                await self._renew(channel)
            await self._renew(channel, partial(_has_expired, changes[-1].created_at))
            for change in changes:
                self._publish(channel, change)
                await _let_read(channel)
            channel.cursor = changes[-1].sequence
            if len(changes) < PAGE:
                break
        for change in list(channel.awaiting.values()):
            if self._applied(organization_id, change.sequence):
                del channel.awaiting[change.record_id]
                _offer(channel, "entity_created", change)
                await _let_read(channel)

    async def _tell_jobs(self, channel: _Channel) -> None:
        while channel.jobs:
            notice = channel.jobs.popleft()
            at = datetime.fromisoformat(notice.at)
            await self._renew(channel, partial(_has_expired, at))
            for event in _events_of(notice, at):
                for subscription in channel.subscribers:
                    subscription.offer(event, notice.visibility)
            await _let_read(channel)

    async def _renew(self, channel: _Channel, concerns: Callable[[Principal], bool] = lambda _: True) -> None:
        for subscription in list(channel.subscribers):
            principal = subscription.principal
            if concerns(principal) and not await self._renew_one(subscription, principal):
                subscription.cut_off(signed_out=True)

    async def _renew_one(self, subscription: Subscription, earlier: Principal) -> bool:
        principal = await in_thread(self._renewed, earlier)
        subscription.principal = principal or earlier
        return principal is not None

    def _publish(self, channel: _Channel, change: Change) -> None:
        if change.kind == "capture":
            _offer(channel, "raw_capture_changed", change)
        if change.kind != "entity":
            return
        if change.entity_type == RAW_MEMORY:
            if change.operation == "delete":
                _offer(channel, "raw_capture_changed", change._replace(fields={"action": "erased"}))
            return
        if change.operation != "create":
            created = channel.awaiting.pop(change.record_id, None)
            if created is not None and change.operation == "update":
                # The creation comes before the change, though the indexes lack it.
                _offer(channel, "entity_created", created)
            _offer(channel, "entity_updated" if change.operation == "update" else "entity_deleted", change)
            return
        if change.fields.get("mode") == "async":
            _offer(channel, "entity_pending", change)
        channel.awaiting[change.record_id] = change


def _events_of(notice: JobNotice, at: datetime) -> Iterator[Event]:
    if notice.done is None:
        data: JsonObject = {"job_id": notice.job_id, "function": notice.function, "status": notice.state}
        yield Event(JOB_EVENTS.get(notice.state, f"job_{notice.state}"), data, at)
    if notice.function in CRAWL_EVENTS:
        named = {"in_progress": "crawl_started", "complete": CRAWL_EVENTS[notice.function]}.get(notice.state)
        data = {"job_id": notice.job_id, "source_id": notice.job_id.partition(":")[2]}
        if notice.done is not None:
            yield Event("crawl_progress", data | {"done": notice.done, "total": notice.total}, at)
        elif named is not None:
            yield Event(named, data, at)


async def _let_read(channel: _Channel) -> None:
    await checkpoint()
    with anyio.move_on_after(PATIENCE_S) as waiting:
        while any(subscription.is_behind for subscription in channel.subscribers):  # noqa: ASYNC110 - there is no event
            await anyio.sleep(0.002)
    if waiting.cancelled_caught:
        for subscription in channel.subscribers:
            if subscription.is_behind:
                subscription.cut_off()


def _offer(channel: _Channel, name: str, change: Change) -> None:
    data: JsonObject = {"id": change.record_id, "entity_type": change.entity_type}
    data |= {key: value for key, value in change.fields.items() if key != "mode"}
    names = [name, OF_NOTES[name]] if "task_id" in change.fields and name in OF_NOTES else [name]
    for event in (Event(each, data, change.created_at) for each in names):
        for subscription in channel.subscribers:
            subscription.offer(event, change.visibility)
