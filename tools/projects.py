"""Projects: who may read their records."""

from stores.ledger import Transaction
from stores.records import Entity, ProjectAccess


def grant_project(tx: Transaction, entity: Entity) -> None:
    """Keep who may read a project beside its entity, because its tasks outlive it."""
    if entity.entity_type == "project":
        private = entity.metadata.get("visibility") == "private"
        tx.set_project_access(ProjectAccess(entity.id, "private" if private else "org", entity.principal_id))
