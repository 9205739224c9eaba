"""Reading of the feed into the backlog of the vector lane."""

from threading import Lock

from stores.indexer.backlog import Backlog
from stores.indexer.feed import Feed
from stores.records import Position

READ_CHANGES = 500


def scan(feed: Feed, epoch: str, backlog: Backlog, lock: Lock) -> None:
    """Queue new changes, and those left in the feed that have room now.

    Raises:
        FeedGap: The next change is pruned.
    """
    while changes := feed.changes(Position(epoch, backlog.scanned, ""), READ_CHANGES):
        with lock:
            backlog.scan(changes)
        if len(changes) < READ_CHANGES:
            break
    while backlog.wants_more:
        changes = feed.changes(Position(epoch, backlog.reached, ""), READ_CHANGES)
        with lock:
            backlog.catch_up(changes)
