"""Imports of other tools' files."""

from stores.ledger.record_table import RecordTable
from stores.ledger.schema import source_imports
from stores.ledger.store import Store
from stores.ledger.writing import Writes
from stores.source_imports import SourceImport

_imports = RecordTable(source_imports, SourceImport, "-updated_at", "id")


class SourceImportReads(Store):
    """The caller checks permissions."""

    def find(self, organization_id: str, import_id: str) -> SourceImport | None:
        return self._find(_imports, organization_id=organization_id, id=import_id)

    def of_user(self, organization_id: str, user_id: str, limit: int, offset: int) -> list[SourceImport]:
        """Return a user's imports, those with the latest news first."""
        statement = _imports.select(organization_id=organization_id, user_id=user_id)
        return [_imports.read(row) for row in self._all(statement.limit(limit).offset(offset))]


class SourceImportWrites(Writes):
    def find(self, import_id: str) -> SourceImport | None:
        return _imports.one(self._connection, organization_id=self.organization_id, id=import_id)

    def keep(self, found: SourceImport) -> None:
        """Store an import, or its next state."""
        values = _imports.values(found)
        if not _imports.change(self._connection, values, organization_id=self.organization_id, id=found.id):
            _imports.insert(self._connection, found, organization_id=self.organization_id)
