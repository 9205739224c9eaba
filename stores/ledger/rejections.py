"""Rejected words: what was marked wrong, by scope, so that it does not come back."""

import hashlib
from collections.abc import Iterable

from sqlalchemy import bindparam, delete, select

from stores.ledger import schema
from stores.ledger.columns import among, here
from stores.ledger.encoding import fold
from stores.ledger.engine import in_chunks
from stores.ledger.record_table import equal_to
from stores.ledger.writing import Writes

_table = schema.rejections
_among = select(_table.c.text_hash, _table.c.memory_id).where(
    here(_table), _table.c.scope == bindparam("scope"), among(_table.c.text_hash, "hashes")
)


class RejectionWrites(Writes):
    """A scope is a memory scope with its key. Case and blanks of the words do not count."""

    def reject(self, scope: str, texts: Iterable[str], memory_id: str) -> None:
        """Keep hashes of words that a marked memory, or a record made of it, stated."""
        for text_hash in sorted({_hash(text) for text in texts if text.strip()}):
            row = {"scope": scope, "text_hash": text_hash, "memory_id": memory_id}
            self._insert_new(_table, row | {"organization_id": self.organization_id})

    def admit(self, memory_id: str) -> None:
        """Forget what was rejected with a memory."""
        of_memory = equal_to(_table, organization_id=self.organization_id, memory_id=memory_id)
        self._connection.execute(delete(_table).where(*of_memory))

    def rejected(self, scope: str, texts: Iterable[str]) -> dict[str, str]:
        """Return the rejected ones of these texts, each with the id of the memory that was marked wrong."""
        hashes = {text: _hash(text) for text in texts if text.strip()}
        found: dict[str, str] = {}
        for chunk in in_chunks(dict.fromkeys(hashes.values())):
            values = self._here | {"scope": scope, "hashes": chunk}
            found |= {row.text_hash: row.memory_id for row in self._run(_among, values)}
        return {text: found[text_hash] for text, text_hash in hashes.items() if text_hash in found}


def _hash(text: str) -> str:
    return hashlib.sha256(" ".join(fold(text).split()).encode(errors="surrogatepass")).hexdigest()
