"""Resolving id prefixes."""

import re
from typing import Annotated

from pydantic import Field, StringConstraints

from stores.errors import Conflict, NotFound
from stores.records import Entity
from tools.app import App
from tools.frame.operation import Call, Operation, Request, Result, Route
from tools.records.entity_types import ENTITY_TYPES
from tools.runtime.threads import in_thread

SHOWN = 10
_HEX = re.compile(r"[0-9a-f]{4,12}")


class ResolveRequest(Request):
    """A short id."""

    prefix: Annotated[str, StringConstraints(min_length=4, max_length=200)] = Field(
        description="How the id begins, at least 4 characters; of `pattern_0a1b2c3d4e5f` also the digits alone: `0a1b`."
    )


class Resolved(Result):
    """The one record that a short id stands for."""

    id: str
    entity_type: str
    name: str


async def resolve(app: App, call: Call, request: ResolveRequest) -> Resolved:
    """Find the record whose id begins with a prefix, in any case of letters; a whole id stands for itself.

    If several readable ids do, the refusal (409) names them in `details.actual`.
    """
    prefix = request.prefix.lower()
    prefixes = [prefix]
    if _HEX.fullmatch(prefix):
        prefixes += [f"{entity_type}_{prefix}" for entity_type in ENTITY_TYPES]
    found = await in_thread(
        app.ledger.records.readable_with_prefix,
        call.caller.organization_id,
        prefixes,
        visibility=call.caller.visible,
        limit=SHOWN + 1,
    )
    whole = [each for each in found if each.id == prefix]
    match whole or found:
        case [entity]:
            return Resolved.of(entity)
        case several:
            raise _unresolved(request.prefix, several)


def _unresolved(prefix: str, found: list[Entity]) -> NotFound | Conflict:
    if not found:
        return NotFound(f"There is no record whose id begins with {prefix}.")
    several = f"more than {SHOWN}" if len(found) > SHOWN else str(len(found))
    return Conflict(
        f"{prefix} stands for {several} records: {', '.join(each.id for each in found[:SHOWN])}.",
        remediation="Send more characters of the id.",
        details={"field": "path.prefix", "actual": [each.id for each in found[:SHOWN]], "expected": "one record"},
    )


OPERATIONS = (Operation(resolve, route=Route("GET", "/api/resolve/{prefix}", errors=(404, 409))),)
