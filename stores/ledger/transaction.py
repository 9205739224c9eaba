"""One transaction of the ledger, with everything that can be written in it."""

from sqlalchemy import bindparam, select, update

from stores.ledger import schema
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.citations import CitationWrites
from stores.ledger.encoding import check_id, check_text
from stores.ledger.erasure import Erasure
from stores.ledger.facts import RelationWrites
from stores.ledger.idempotency import Claim, ClaimedWrites
from stores.ledger.leases import FencedWrites
from stores.ledger.memories import MemoryWrites
from stores.ledger.workflow import WorkflowReads
from stores.records import ProjectAccess

_access = schema.project_access
_visibility = select(_access.c.visibility).where(
    _access.c.organization_id == bindparam("organization"), _access.c.project_id == bindparam("project")
)


class Transaction(Erasure, MemoryWrites, RelationWrites, WorkflowReads, CitationWrites, ClaimedWrites, FencedWrites):
    """All of it is committed, or none. Opened by `Ledger.transaction`."""

    def set_project_access(self, access: ProjectAccess, *, keep_creator: bool = False) -> None:
        """Store who may read a project; the row outlives the project entity.

        With `keep_creator` a project that is known keeps its own, or none where that one has left the organization.
        """
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
        """Tell whether a project's records are for the whole organization."""
        values = {"organization": self.organization_id, "project": project_id}
        return bool(self._run(_visibility, values).scalar() == "org")

    def audit(self, draft: AuditDraft) -> None:
        """Remember the deed that this transaction is.

        Raises:
            ValidationFailed: A text cannot be stored.
        """
        append_audit(self._connection, self.now, draft)

    def seal(self, claim: Claim | None) -> None:
        """Write what belongs at the end: the claim's mark, then the feed."""
        if claim is not None:
            self._apply_claim(claim)
        self._append_feed()
