"""One transaction: its repositories share a connection and commit together."""

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, select, update

from stores.clock import Clock
from stores.ledger import schema
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.encoding import check_id, check_text
from stores.ledger.erasure import Erasure
from stores.ledger.facts import RelationWrites
from stores.ledger.idempotency import Claim, apply_claim
from stores.ledger.identities import access_of, identity_of
from stores.ledger.leases import Lease, require_lease
from stores.ledger.memories import MemoryWrites
from stores.ledger.workflow import WorkflowReads
from stores.ledger.writing import Writes, Writing
from stores.records import Access, Identity, ProjectAccess

_access = schema.project_access
_visibility = select(_access.c.visibility).where(
    _access.c.organization_id == bindparam("organization"), _access.c.project_id == bindparam("project")
)


class RecordWrites(Erasure, WorkflowReads):
    """Entities, documents and tasks."""


class PeopleWrites(Writes):
    def member(self, user_id: str) -> tuple[Identity, Access] | None:
        """Return a member's identity and access; None for anybody else."""
        identity = identity_of(self._connection, user_id, self.organization_id)
        if identity is None:
            return None
        return identity, access_of(self._connection, user_id, self.organization_id, self.now)

    def set_project_access(self, access: ProjectAccess, *, keep_creator: bool = False) -> None:
        """Store who may read a project; `keep_creator` keeps the creator of an existing row."""
        check_id(access.project_id)
        check_text((access.creator_id,))
        identity = {"organization_id": self.organization_id, "project_id": access.project_id}
        values = {"visibility": access.visibility, "creator_id": access.creator_id}
        if not self._insert_new(_access, identity | values):
            statement = update(_access).where(
                _access.c.organization_id == self.organization_id, _access.c.project_id == access.project_id
            )
            changes = {"visibility": access.visibility} if keep_creator else values
            self._run(statement.values(changes), {})

    def is_open_project(self, project_id: str) -> bool:
        """Tell whether the whole organization may read a project's records."""
        values = {"organization": self.organization_id, "project": project_id}
        return bool(self._run(_visibility, values).scalar() == "org")


class Transaction:
    """Opened by `Ledger.transaction`."""

    def __init__(
        self, connection: Connection, organization_id: str, actor_id: str, clock: Clock, *, deferred: bool
    ) -> None:
        self._writing = writing = Writing(connection, organization_id, actor_id, clock, deferred=deferred)
        self.organization_id = organization_id
        self.actor_id = actor_id
        self.now = writing.now
        """Time of everything in the transaction."""
        self.records = RecordWrites(writing)
        self.relations = RelationWrites(writing)
        self.memories = MemoryWrites(writing, self.records)
        self.people = PeopleWrites(writing)

    @property
    def wrote(self) -> bool:
        return self._writing.wrote

    @property
    def sequence(self) -> int:
        """Head of the feed; after the commit, that of this transaction's last change."""
        return self._writing.sequence

    def audit(self, draft: AuditDraft) -> None:
        append_audit(self._writing.connection, self.now, draft)

    def show_in_answer(self, entity_ids: Iterable[str]) -> None:
        """Name unwritten records in the answer: deleting or hiding them erases the stored answer."""
        self._writing.shown.extend(entity_ids)

    def require_lease(self, lease: Lease) -> None:
        """Raise Conflict at the commit if the lease was lost."""
        require_lease(self._writing, lease)

    def seal(self, claim: Claim | None) -> None:
        """Mark the claim, then write the feed: the last statements before the commit."""
        if claim is not None:
            apply_claim(self._writing, claim)
        self._writing.append_feed()
