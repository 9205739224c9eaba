"""Idempotency keys: a repeated request gets the stored answer.

A key is `claimed` while its request runs, `applied` after the commit, and `finished` once the answer is stored. A
missing answer is `unkept` (held a secret), `erased` (with a deleted record) or `lost` (a crash after the commit).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import uuid4

from pydantic import JsonValue
from sqlalchemy import Connection, bindparam, insert, select

from stores.errors import Conflict
from stores.ledger import schema
from stores.ledger.columns import Rows, here
from stores.ledger.encoding import Values, check_text, dump_json, load_value, to_micros
from stores.ledger.engine import insert_or_skip
from stores.ledger.store import Store, Writing
from stores.records import UNAVAILABLE, WITHHELD

KEPT = timedelta(hours=24)

_WAIT = "Wait a moment and send it again with the same key."
_WITHOUT_ANSWER = {
    "applied": ("A request with this Idempotency-Key is still running: its answer is being prepared.", _WAIT),
    "lost": ("This request was carried out, but its answer is gone.", "Read the records that the message names."),
    "erased": (
        "This request was carried out, and is not repeated. Its answer is not shown again, because a record that it is "
        "about was deleted or may not be read by you any more.",
        "Read what is left of the records that the message names; to write anew, send the request with a new key.",
    ),
}

_keys = schema.idempotency_keys
_records = schema.idempotency_records
_KEYS = Rows(_keys)
_is_unfinished = _keys.c.state.in_(("claimed", "applied"))
_row = select(_keys).where(here(_keys), _keys.c.slot == bindparam("of_slot"))
_records_of = (
    select(_records.c.record)
    .where(here(_records), _records.c.slot == bindparam("of_slot"))
    .order_by(_records.c.ordinal)
)


@dataclass(frozen=True, slots=True)
class Claim:
    organization_id: str
    slot: str
    claim_id: str


@dataclass(frozen=True, slots=True)
class Replay:
    status: int
    body: JsonValue
    records: tuple[str, ...]
    """`entity:<id>`; only callers who may read all of them get the body."""

    def gone(self) -> Conflict:
        """Build the error for a deleted record, without saying whether it exists."""
        return _no_answer("erased", self.records)


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    organization_id: str
    principal: str
    method: str
    path: str
    key: str
    body_hash: str


class Idempotency(Store):
    def claim(self, request: KeyedRequest, holder: str) -> Claim | Replay:
        """Claim a request, or return its answer; Conflict for another body, while it runs, and without one."""
        check_text((request.organization_id, request.key))
        now = self._clock()
        claim = Claim(request.organization_id, _slot(request), uuid4().hex)
        row: Values = asdict(claim) | {
            "body_hash": request.body_hash,
            "holder": holder,
            "state": "claimed",
            "expires_at": to_micros(now + KEPT),
        }
        with self._database.write() as connection:
            mine = {"organization_id": claim.organization_id, "slot": claim.slot}
            _KEYS.remove(connection, _keys.c.expires_at <= to_micros(now), **mine)
            if connection.execute(insert_or_skip(connection.dialect.name, _keys), row).rowcount != 1:
                return self._answer(connection, request, claim.slot)
        return claim

    def finish(self, claim: Claim, status: int, body: JsonValue, *, keep: bool = True) -> None:
        """Store the answer, or only that there was one that cannot be kept."""
        answer: Values = {"state": "finished", "body": dump_json(body)} if keep else {"state": "unkept"}
        with self._database.write() as connection:
            _KEYS.change(connection, answer | {"status": status}, _is_unfinished, **asdict(claim))

    def release(self, claim: Claim) -> None:
        self._give_up(**asdict(claim))

    def release_dead_claims(self, holder: str) -> int:
        """Drop unfinished claims of a dead process; return how many."""
        return self._give_up(holder=holder)

    def _give_up(self, **which: str) -> int:
        with self._database.write() as connection:
            _KEYS.change(connection, {"state": "lost"}, **which, state="applied")
            return _KEYS.remove(connection, **which, state="claimed")

    def _answer(self, connection: Connection, request: KeyedRequest, slot: str) -> Replay:
        values = {"organization": request.organization_id, "of_slot": slot}
        row = connection.execute(_row, values).first()
        if row is None or (row.state == "claimed" and row.body_hash == request.body_hash):
            raise Conflict("A request with this Idempotency-Key is still running.", remediation=_WAIT)
        if row.body_hash != request.body_hash:
            raise Conflict(
                "This Idempotency-Key was used for a request with another body.",
                remediation="Use a new key for a new request.",
            )
        records = [record for (record,) in connection.execute(_records_of, values)]
        if row.state == "finished":
            return Replay(row.status, load_value(row.body), tuple(records))
        if row.state == "unkept":
            raise Conflict(
                "This request was carried out. Its answer held a secret, which is shown once and kept nowhere.",
                remediation="If the secret is lost, revoke the new credential, and send the request with a new key.",
            )
        raise _no_answer(row.state, records)


def apply_claim(writing: Writing, claim: Claim) -> None:
    """Mark the request as done, in its own transaction; Conflict if the claim does not hold any more."""
    is_here = claim.organization_id == writing.organization_id
    if not is_here or not _KEYS.change(writing.connection, {"state": "applied"}, **asdict(claim), state="claimed"):
        raise Conflict("The request took too long and lost its Idempotency-Key; nothing was changed.")
    # No relations: some may belong to hidden records, and none is read by id.
    # And none that was made unavailable or withheld: the answer could not be read.
    unread = (UNAVAILABLE, WITHHELD)
    shown = (each for each in writing.entries if each.kind != "relation" and not each.visibility.startswith(unread))
    written = (each.record_id for each in shown)
    records = dict.fromkeys(f"entity:{entity_id}" for entity_id in (*written, *writing.shown))
    rows = [
        {"organization_id": writing.organization_id, "slot": claim.slot, "ordinal": ordinal, "record": record}
        for ordinal, record in enumerate(records)
    ]
    if rows:
        writing.run(insert(_records), rows)


def _no_answer(state: str, records: Sequence[str]) -> Conflict:
    wrote, remediation = _WITHOUT_ANSWER[state]
    return Conflict(
        f"{wrote} It was about: {', '.join(records) or 'nothing'}.",
        remediation=remediation,
        details={"records": list(records)},
    )


def _slot(request: KeyedRequest) -> str:
    parts = [request.principal, request.method.upper(), request.path, request.key]
    return hashlib.sha256(dump_json(list(parts)).encode()).hexdigest()
