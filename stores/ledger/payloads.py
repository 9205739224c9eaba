"""Payloads of raw memories: long texts by place, each read alone, so that memory is bounded."""

from collections.abc import Iterable

from sqlalchemy import bindparam, delete, insert, select

from stores.ledger import schema
from stores.ledger.columns import here
from stores.ledger.encoding import check_text
from stores.ledger.rows import Values
from stores.ledger.store import Store
from stores.ledger.writing import Writes

_table = schema.payload_texts
_of_memory = (here(_table), _table.c.id == bindparam("of_id"))
_text = select(_table.c.content).where(*_of_memory, _table.c.place == bindparam("at"))
_drop = delete(_table).where(*_of_memory)
_drop_one = _drop.where(_table.c.place == bindparam("at"))


class PayloadReads(Store):
    """The caller checks permissions."""

    def text(self, organization_id: str, memory_id: str, place: int) -> str | None:
        values = {"organization": organization_id, "of_id": memory_id, "at": place}
        return self._one(_text, values, lambda row: str(row[0]))


class PayloadWrites(Writes):
    """Adds nothing to the feed. Erasing the raw memory erases its payload."""

    def text(self, memory_id: str, place: int) -> str | None:
        return self._one(_text, self._at(memory_id, place), lambda row: str(row[0]))

    def replace_text(self, memory_id: str, place: int, text: str) -> None:
        self._run(_drop_one, self._at(memory_id, place))
        self._insert(memory_id, [(place, text)])

    def replace_texts(self, memory_id: str, texts: Iterable[str]) -> None:
        """Store the texts from place 0 on, instead of all that were there."""
        self._run(_drop, self._here | {"of_id": memory_id})
        self._insert(memory_id, enumerate(texts))

    def _insert(self, memory_id: str, texts: Iterable[tuple[int, str]]) -> None:
        rows: list[Values] = [
            {"organization_id": self.organization_id, "id": memory_id, "place": place, "content": text}
            for place, text in texts
        ]
        check_text(str(row["content"]) for row in rows)
        self._run(insert(_table), rows)

    def _at(self, memory_id: str, place: int) -> Values:
        return self._here | {"of_id": memory_id, "at": place}
