"""Run operations for REST and MCP: check rights, apply once per key."""

import hashlib
import json
from dataclasses import replace

from pydantic import BaseModel, JsonValue

from auth.policy import UNVERIFIED, MemoryDenied, NoProject, Visibility
from auth.principal import Principal
from auth.tokens import keyed_hash
from stores.errors import AuthenticationRequired, EngrainError, Forbidden, InvalidRequest, NotFound, RecordUnreadable
from stores.ledger import Claim, KeyedRequest, Replay
from stores.records import JsonObject
from tools.app import App
from tools.frame.audit_entries import denial_entry, secrets_entries
from tools.frame.operation import Call, Operation, Outcome, Request, Result, begun
from tools.frame.screening import screened
from tools.frame.threads import in_thread
from tools.records.entity_models import no_entity
from tools.records.projects import NAMING, ProjectNames

KEY_LIMIT = 255
_PURPOSE = b"engrain idempotent bodies"


def require_rights(operation: Operation, principal: Principal | None) -> None:
    if operation.roles is None:
        return
    if principal is None:
        raise AuthenticationRequired("Authentication is required.")
    if principal.role not in operation.roles:
        needed = " or ".join(
            role.capitalize() for role in ("viewer", "member", "admin", "owner") if role in operation.roles
        )
        sentence = f"Your role is {principal.role.capitalize()}; {operation.name} needs {needed}."
        raise Forbidden(
            operation.role_refusal or sentence,
            code=operation.role_refusal or None,
            remediation=sentence if operation.role_refusal else None,
            details={"actual": principal.role, "expected": needed},
        )
    if not principal.scopes & ({"api:read", "api:write"} if operation.scope == "read" else {"api:write"}):
        raise Forbidden(
            f"insufficient_api_scope: {operation.name} needs the scope api:{operation.scope}.",
            remediation=f"Use a credential with the scope api:{operation.scope}.",
            details={"actual": " ".join(sorted(principal.scopes)), "expected": f"api:{operation.scope}"},
        )


async def execute(
    app: App,
    operation: Operation,
    call: Call,
    request: Request,
    *,
    idempotency_key: str | None = None,
    key_path: str = "",
) -> Outcome:
    """Run an operation; with a repeated idempotency key, replay the answer."""
    require_rights(operation, call.principal)
    try:
        if idempotency_key is None or not operation.mutates or call.principal is None:
            result, warnings = await _run(app, operation, call, request)
            return Outcome(_status(operation), result, warnings=warnings)
        return await _execute_once(app, operation, call, request, (idempotency_key, key_path))
    except RecordUnreadable as error:
        raise _hidden(error, call.principal) from error
    except (Forbidden, NotFound) as error:
        denied = error.__cause__ if isinstance(error.__cause__, NoProject) else error
        if isinstance(denied, MemoryDenied | NoProject) and denied.place is not None:
            await in_thread(_note_denial, app, call, denied.place, denied)
        raise


def _note_denial(app: App, call: Call, place: Visibility, denied: EngrainError) -> None:
    reason = UNVERIFIED if isinstance(denied, NoProject) else denied.word or denied.code
    app.ledger.audit.append(denial_entry(app.accounts.home_of(call.caller.user_id), call, place, reason))


async def _run(app: App, operation: Operation, call: Call, request: Request) -> tuple[Result, list[str]]:
    projects = ProjectNames(app, call.principal) if call.principal is not None else None
    try:
        if projects is not None and request.model_fields_set & NAMING:
            request = await in_thread(projects.with_ids, request)
        warnings: list[str] = []
        if operation.scope == "write":
            request, warnings = await in_thread(screened, operation, request, app.settings.secrets)
        result: Result = await call.settled(await begun(operation.run, app, call, request))
    except EngrainError as error:
        if projects is not None and "project" in error.details:
            await in_thread(projects.suggest, error)
        raise
    if warnings:
        await in_thread(_note_secrets, app, call, {"operation": operation.name, "warnings": [*warnings]}, result)
    return result, warnings


def _note_secrets(app: App, call: Call, details: JsonObject, result: Result) -> None:
    receipt = getattr(getattr(result, "entity", result), "mutation_receipt", None)
    ids = [] if receipt is None else [each.partition(":")[2] for each in receipt.affected_records]
    written = app.ledger.records.entities(call.caller.organization_id, ids).values()
    for entry in secrets_entries(app.accounts.home_of(call.caller.user_id), call, details, written):
        app.ledger.audit.append(entry)


def _hidden(error: RecordUnreadable, principal: Principal | None) -> EngrainError:
    if not error.visibility or (principal is not None and error.visibility in principal.readable):
        return error
    return no_entity(error.record_id)


async def _execute_once(app: App, operation: Operation, call: Call, request: Request, key: tuple[str, str]) -> Outcome:
    claim = await in_thread(_claim, app, operation, call.caller, request, key)
    if isinstance(claim, Replay):
        return Outcome(claim.status, stored=_replayed(claim.body), replayed=True)
    try:
        result, warnings = await _run(app, operation, replace(call, claim=claim, idempotency_key=key[0]), request)
    except BaseException:
        await in_thread(app.ledger.idempotency.release, claim)
        raise
    outcome = Outcome(_status(operation), result, warnings=warnings)
    finish = app.ledger.idempotency.finish
    await in_thread(finish, claim, outcome.status, outcome.body(), keep=not operation.secret)
    return outcome


def _claim(app: App, operation: Operation, caller: Principal, request: Request, key: tuple[str, str]) -> Claim | Replay:
    keyed = _keyed(app, operation, (caller.organization_id, caller.key_id or caller.user_id), request, key)
    found = app.ledger.idempotency.claim(keyed, app.process_id)
    if isinstance(found, Replay):
        ids = [record.removeprefix("entity:") for record in found.records]
        there = app.ledger.records.statuses(caller.organization_id, ids, visibility=caller.visible)
        if not all(status.visibility in caller.readable for status in there.values()):
            raise found.gone()
    return found


def _keyed(
    app: App, operation: Operation, whose: tuple[str, str], request: Request, key: tuple[str, str]
) -> KeyedRequest:
    text, path = key
    if not text or len(text) > KEY_LIMIT or not text.isprintable():
        raise InvalidRequest(
            f"An Idempotency-Key has 1 to {KEY_LIMIT} visible characters.", remediation="Send a UUID, for example."
        )
    return KeyedRequest(
        organization_id=whose[0],
        principal=whose[1],
        method=operation.route.method if operation.route else "MCP",
        path=path or operation.name,
        key=text,
        # Keyed: a plain hash of a password in the ledger could be guessed.
        body_hash=keyed_hash(app.accounts.tokens.secret, _PURPOSE, body_hash(request)),
    )


def body_hash(request: BaseModel) -> str:
    """Hash a request regardless of field order; null differs from missing."""
    canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
    found = hashlib.sha256()
    # In pieces: a body of 64 MiB is not copied.
    for piece in canonical.iterencode(request.model_dump(mode="json", exclude_unset=True)):
        found.update(piece.encode())
    return found.hexdigest()


def _replayed(answer: JsonValue) -> bytes:
    if not isinstance(answer, dict) or not answer:
        return b""
    mutation = answer.get("mutation_receipt")
    marked = {**answer, "mutation_receipt": {**mutation, "replayed": True}} if isinstance(mutation, dict) else answer
    return json.dumps(marked, ensure_ascii=False).encode()


def _status(operation: Operation) -> int:
    return operation.route.status if operation.route else 200
