"""The ledger, the source of truth: repositories over one database, with a change feed."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

from sqlalchemy import select

from stores.clock import Clock, utc_now
from stores.errors import Unavailable
from stores.jobs import JobNotice
from stores.ledger import schema
from stores.ledger.accounts import Accounts, Proofs
from stores.ledger.audit import Audit
from stores.ledger.credentials import ApiKeys, Grants
from stores.ledger.documents import DocumentReads
from stores.ledger.engine import Database, connect, insert_or_skip
from stores.ledger.exporting import ExportReads, SourceImportReads
from stores.ledger.feed import FeedReads
from stores.ledger.idempotency import Claim, Idempotency
from stores.ledger.identities import Identities
from stores.ledger.jobs import JobListener, Jobs
from stores.ledger.links import LinkReads
from stores.ledger.listing import Listing
from stores.ledger.members import Invitations, Members
from stores.ledger.memories import MemoryReads, PayloadReads
from stores.ledger.migrating import migrate
from stores.ledger.notices import CommitListener, Notices
from stores.ledger.projects import ProjectMembers, Teams
from stores.ledger.relations import RelationReads
from stores.ledger.sessions import DeviceLogins, Sessions, Tickets
from stores.ledger.spaces import Spaces
from stores.ledger.transaction import Transaction
from stores.ledger.workflow import WorkReads

_epoch = select(schema.meta.c.value).where(schema.meta.c.name == "epoch")


class Records(Listing, DocumentReads, WorkReads):
    pass


class Relations(RelationReads, LinkReads):
    pass


class People(Identities, Accounts, Proofs, Sessions, Members):
    pass


class Ledger:
    """An open ledger with its repositories, thread-safe.

    Never write outside of a transaction that the same thread has open: SQLite has one writer, so it would wait for
    itself until the time-out.
    """

    def __init__(self, database: Database, clock: Clock, epoch: str) -> None:
        self._database = database
        self._clock = clock
        self.feed = FeedReads(database, clock, epoch)
        self.records = Records(database, clock, self.feed)
        self.relations = Relations(database, clock)
        self.memories = MemoryReads(database, clock)
        self.payloads = PayloadReads(database, clock)
        self.export = ExportReads(database, clock)
        self.people = People(database, clock)
        self.idempotency = Idempotency(database, clock)
        self.source_imports = SourceImportReads(database, clock)
        self.audit = Audit(database, clock)
        self.api_keys = ApiKeys(database, clock)
        self.invitations = Invitations(database, clock)
        self.project_members = ProjectMembers(database, clock)
        self.teams = Teams(database, clock)
        self.spaces = Spaces(database, clock)
        self.tickets = Tickets(database, clock)
        self.device_logins = DeviceLogins(database, clock)
        self.grants = Grants(database, clock)
        self.on_commit: list[CommitListener] = []
        """Called with organization and last sequence number after each commit that grew its feed."""
        self.on_job: list[JobListener] = []
        """Called after commits that changed a job's state, in all processes that `listen`."""
        self.on_commit_elsewhere: list[CommitListener] = []
        """As `on_commit`, for other processes; needs `listen`."""
        self.jobs = Jobs(database, clock, self._tell_job)
        self._notices: Notices | None = None

    @classmethod
    def open(cls, url: str, *, clock: Clock = utc_now) -> "Ledger":
        """Open a ledger; create or migrate its tables.

        Raises:
            InvalidSetting: The URL cannot be used, or a newer version wrote the ledger.
            Unavailable: The database server does not answer.
        """
        database = connect(url)
        try:
            with database.write() as connection:
                migrate(connection)
                start = {"name": "epoch", "value": uuid4().hex}
                connection.execute(insert_or_skip(connection.dialect.name, schema.meta), start)
                epoch = str(connection.execute(_epoch).scalar_one())
        except BaseException as error:
            database.close()
            if isinstance(error, Unavailable) and database.is_sqlite:
                where = f"{error.message} It is {url.partition(':///')[2]}"
                raise Unavailable(where, remediation=error.remediation) from error
            raise
        return cls(database, clock, epoch)

    @contextmanager
    def transaction(
        self, organization_id: str, actor_id: str, claim: Claim | None = None, *, deferred: bool = False
    ) -> Iterator[Transaction]:
        """Yield one transaction: committed when the block ends, rolled back when it raises.

        Transactions of one organization never overlap: commits follow the sequence numbers. `deferred` marks bulk
        writes, embedded last.

        Raises:
            Conflict: The claim does not hold any more.
        """
        with self._database.write() as connection:
            tx = Transaction(connection, organization_id, actor_id, self._clock, deferred=deferred)
            yield tx
            tx.seal(claim)
        for each in (tx, *tx.elsewhere.values()):
            for listener in self.on_commit if each.wrote else ():
                listener(each.organization_id, each.sequence)
        for notice in tx.jobs.notices:
            self._tell_job(notice)

    def listen(self) -> None:
        """Exchange notices with other processes on one PostgreSQL."""
        if not self._database.is_sqlite:
            self._notices = Notices(self._database, self.on_commit_elsewhere, self.on_job)
            self.on_commit.append(self._notices.tell)

    def _tell_job(self, notice: JobNotice) -> None:
        for listener in self.on_job:
            listener(notice)
        if self._notices is not None:
            self._notices.tell(*notice)

    def version(self) -> int | None:
        """Return a number that changes with each commit, in any process; None on PostgreSQL.

        Reads after this call stay valid while the number is the same.
        """
        return self._database.version()

    def ping(self) -> None:
        with self._database.read() as connection:
            connection.execute(_epoch)

    def tidy(self) -> None:
        """Remove expired credentials, resume interrupted erasures, write API key uses; for idle times."""
        self.api_keys.write_uses()
        self.people.prune_expired()
        self.people.erase_deleted()

    def checkpoint(self) -> None:
        """Truncate SQLite's write-ahead log, so that deleted text leaves the disk."""
        self._database.checkpoint()

    def close(self) -> None:
        """Write API key uses, and close every connection."""
        if self._notices is not None:
            self._notices.close()
        with suppress(Unavailable):
            self.api_keys.write_uses()
        self.audit.close()
        self._database.close()
