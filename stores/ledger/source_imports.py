"""Imports of other tools' files."""

from sqlalchemy import bindparam, insert, select, update

from stores.ledger import schema
from stores.ledger.columns import columns_of, reader, to_values
from stores.ledger.encoding import check_id, check_keys, check_text
from stores.ledger.store import Store
from stores.ledger.writing import Writes
from stores.source_imports import SourceImport

_table = schema.source_imports
_of_organization = _table.c.organization_id == bindparam("organization")
_one = select(*columns_of(_table, SourceImport)).where(_of_organization, _table.c.id == bindparam("of_id"))
_of_user = (
    select(*columns_of(_table, SourceImport))
    .where(_of_organization, _table.c.user_id == bindparam("user"))
    .order_by(_table.c.updated_at.desc(), _table.c.id)
)
_change = update(_table).where(_of_organization, _table.c.id == bindparam("of_id"))
_read = reader(SourceImport)


class SourceImportReads(Store):
    """The caller checks permissions."""

    def find(self, organization_id: str, import_id: str) -> SourceImport | None:
        return self._one(_one, {"organization": organization_id, "of_id": import_id}, _read)

    def of_user(self, organization_id: str, user_id: str, limit: int, offset: int) -> list[SourceImport]:
        """Return a user's imports, those with the latest news first."""
        rows = self._all(_of_user.limit(limit).offset(offset), {"organization": organization_id, "user": user_id})
        return [_read(row) for row in rows]


class SourceImportWrites(Writes):
    def find(self, import_id: str) -> SourceImport | None:
        row = self._run(_one, {"organization": self.organization_id, "of_id": import_id}).first()
        return None if row is None else _read(row)

    def keep(self, found: SourceImport) -> None:
        """Store an import, or its next state."""
        check_id(found.id)
        check_keys((found.adapter, found.memory_scope, found.scope_key))
        check_text((found.source,))
        values = to_values(found)
        changed = self._run(_change.values(values), {"organization": self.organization_id, "of_id": found.id})
        if not changed.rowcount:
            self._run(insert(_table), values | {"organization_id": self.organization_id})
