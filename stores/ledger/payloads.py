"""Payloads of raw memories: long texts by place, each read alone, so that memory is bounded."""

from collections.abc import Iterable

from sqlalchemy import Select, delete, insert, select

from stores.ledger import schema
from stores.ledger.encoding import check_text
from stores.ledger.record_table import equal_to
from stores.ledger.store import Store
from stores.ledger.writing import Writes

_table = schema.payload_texts


def _text(organization_id: str, memory_id: str, place: int) -> Select[str]:
    return select(_table.c.content).where(*equal_to(_table, organization_id=organization_id, id=memory_id, place=place))


class PayloadReads(Store):
    """The caller checks permissions."""

    def text(self, organization_id: str, memory_id: str, place: int) -> str | None:
        row = self._first(_text(organization_id, memory_id, place))
        return None if row is None else str(row[0])


class PayloadWrites(Writes):
    """Adds nothing to the feed. Erasing the raw memory erases its payload."""

    def text(self, memory_id: str, place: int) -> str | None:
        return self._connection.execute(_text(self.organization_id, memory_id, place)).scalar()

    def replace_text(self, memory_id: str, place: int, text: str) -> None:
        self._replace(memory_id, [(place, text)], place=place)

    def replace_texts(self, memory_id: str, texts: Iterable[str]) -> None:
        """Store the texts from place 0 on, instead of all that were there."""
        self._replace(memory_id, enumerate(texts))

    def _replace(self, memory_id: str, texts: Iterable[tuple[int, str]], **where: int) -> None:
        of_memory = {"organization_id": self.organization_id, "id": memory_id}
        self._connection.execute(delete(_table).where(*equal_to(_table, **of_memory, **where)))
        rows = [of_memory | {"place": place, "content": text} for place, text in texts]
        check_text(str(row["content"]) for row in rows)
        self._run(insert(_table), rows)
