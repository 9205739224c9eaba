"""People who call operations in tests, each with a real account."""

import uuid
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest
from argon2 import PasswordHasher

from auth.accounts import SignedIn
from auth.passwords import Passwords
from stores.records import Role, Session
from tests.indexes import differences
from tools.app import App
from tools.catalogue import by_name
from tools.frame.execute import execute
from tools.frame.operation import Call, Outcome
from tools.frame.parsing import parse
from tools.frame.threads import in_thread
from tools.jobs.functions import JobHost
from tools.jobs.runner import FUNCTIONS, Runner
from tools.people.sessions import MAIL_RESET

PASSWORD = "correct horse battery staple"
_CHEAP = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@dataclass(frozen=True, slots=True)
class Person:
    app: App
    signed: SignedIn
    email: str

    @property
    def user_id(self) -> str:
        return self.signed.identity.user.id

    @property
    def organization_id(self) -> str:
        return self.signed.identity.organization.id

    @property
    def session_id(self) -> str:
        assert self.signed.identity.session is not None
        return self.signed.identity.session.id

    @property
    def token(self) -> str:
        return self.signed.access_token

    async def run(self, operation: str, /, *, idempotency_key: str | None = None, **fields: Any) -> Outcome:
        entry = by_name[operation]
        principal = await in_thread(self.app.accounts.authenticate, self.token)
        request = parse(entry.request, fields)
        return await execute(self.app, entry, Call(principal), request, idempotency_key=idempotency_key)

    async def call(self, operation: str, /, **fields: Any) -> Any:
        return (await self.run(operation, **fields)).body()

    async def refused(self, operation: str, error: type[Exception], /, *, match: Any = None, **fields: Any) -> Any:
        with pytest.raises(error, match=match) as refusal:
            await self.run(operation, **fields)
        return refusal.value

    async def in_organization(self, organization_id: str) -> "Person":
        return replace(self, signed=await in_thread(_session_in, self.app, self.signed, organization_id))


async def person(app: App, name: str, *, of: Person | None = None, role: Role = "owner") -> Person:
    accounts = replace(app.accounts, passwords=_CHEAP)
    email = f"{name}-{uuid.uuid4().hex[:8]}@example.org"
    signed = await in_thread(lambda: accounts.start(accounts.create(email, PASSWORD, name)))
    if of is None:
        return Person(app, signed, email)
    await in_thread(app.ledger.people.add_membership, signed.identity.user.id, of.organization_id, role)
    return Person(app, await in_thread(_session_in, app, signed, of.organization_id), email)


async def caught_up(person: Person) -> None:
    """Wait until every index of the person's organization shows everything, and hold them against the ledger."""
    app, organization = person.app, person.organization_id
    head, ids = app.ledger.feed.head(organization).sequence, list(app.ledger.records.revisions(organization))
    assert await app.indexer.applied_within(organization, head, ids, 20) == []
    assert await in_thread(differences, app.indexer, organization) == []


def host_of(app: App) -> JobHost:
    return JobHost(app.ledger, app.settings, app.clock, app)


async def worked(app: App, *functions: str) -> None:
    """Run the jobs of these functions until there are none."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Runner(host_of(app), "worker", {each: FUNCTIONS[each] for each in functions}).run)
        with anyio.fail_after(30):
            while await in_thread(app.ledger.jobs.next_due, functions) is not None:  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()


async def mailed(app: App) -> None:
    """Send the mail that was asked for before."""
    await in_thread(app.mailer.wait)
    await worked(app, MAIL_RESET)


async def tokens_made(person: Person) -> None:
    """Wait for the token vectors of the person's organization, for which no write waits."""

    def is_behind() -> bool:
        status = person.app.indexer.status()
        return any(line.pending for line in status if line.organization_id == person.organization_id)

    with anyio.fail_after(60):
        while is_behind():  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(0.01)


def lag(person: Person) -> None:
    """Let indexes learn of writes only when they ask for them, about once a second."""
    person.app.ledger.on_commit.clear()


def _session_in(app: App, signed: SignedIn, organization_id: str) -> SignedIn:
    user_id, now = signed.identity.user.id, app.clock()
    session = Session(
        str(uuid.uuid4()), user_id, organization_id, str(uuid.uuid4()), now,
        now + app.accounts.tokens.refresh_lifetime, None,
    )  # fmt: skip
    app.ledger.people.create_session(session)
    identity = app.ledger.people.identity(user_id, organization_id, session.id)
    assert identity is not None
    tokens = app.accounts.tokens
    return SignedIn(identity, tokens.access(session), tokens.refresh(session), 3600)
