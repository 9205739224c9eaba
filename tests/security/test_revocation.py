"""Whatever ends a credential ends it at once: with the next request, and for sockets that are open."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from email import message_from_bytes, policy

import anyio
import pytest
from websockets.exceptions import ConnectionClosed

from tests.people import PASSWORD, Person, mailed
from tests.security.harness import SOON, SURFACES, World, bearer, cookie
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

NEW = "another fine password"
KEYS = "/api/auth/api-keys"

Ending = Callable[[World, Person, Person], Awaitable[None]]
"""Ends the sessions of the second person, a member of the organization that the first one owns."""


async def log_out(world: World, _owner: Person, bob: Person) -> None:
    assert (await world.post("/api/auth/logout", {}, bob.token)).status_code == 204


async def log_out_by_the_refresh_token(world: World, _owner: Person, bob: Person) -> None:
    answer = await world.post("/api/auth/logout", {"refresh_token": bob.signed.refresh_token})
    assert answer.status_code == 204


async def signed_in_elsewhere(world: World, bob: Person) -> str:
    answer = await world.post("/api/auth/local/login", {"email": bob.email, "password": PASSWORD})
    return str(answer.json()["access_token"])


async def change_the_password(world: World, _owner: Person, bob: Person, token: str | None = None) -> None:
    body = {"current_password": PASSWORD, "new_password": NEW}
    assert (await world.post("/api/users/me/password", body, token or bob.token)).status_code == 204


async def change_the_password_elsewhere(world: World, owner: Person, bob: Person) -> None:
    await change_the_password(world, owner, bob, await signed_in_elsewhere(world, bob))


async def reset_the_password(world: World, _owner: Person, bob: Person) -> None:
    await world.post("/api/users/password/reset", {"email": bob.email})
    await mailed(world.app)
    letters = [
        message_from_bytes(file.read_bytes(), policy=policy.default) for file in world.app.mailer.folder.iterdir()
    ]
    [letter] = [each for each in letters if each["To"] == bob.email]
    [token] = [line for line in letter.get_content().splitlines() if len(line) == 43]
    answer = await world.post("/api/users/password/reset/confirm", {"token": token, "new_password": NEW})
    assert answer.status_code == 204


async def end_the_session_elsewhere(world: World, _owner: Person, bob: Person) -> None:
    other = await signed_in_elsewhere(world, bob)
    path = f"/api/users/me/sessions/{bob.session_id}"
    assert (await world.send("DELETE", path, token=other)).status_code == 200


async def delete_the_account_elsewhere(world: World, _owner: Person, bob: Person) -> None:
    assert (await world.send("DELETE", "/api/users/me", token=await signed_in_elsewhere(world, bob))).status_code == 202


async def leave(world: World, owner: Person, bob: Person, by: Person | None = None) -> None:
    path = f"/api/orgs/{owner.signed.identity.organization.slug}/members/{bob.user_id}"
    assert (await world.send("DELETE", path, token=(by or bob).token)).status_code == 200


async def be_removed(world: World, owner: Person, bob: Person) -> None:
    await leave(world, owner, bob, by=owner)


async def switch(world: World, _owner: Person, bob: Person) -> None:
    assert (await world.post(f"/api/orgs/u-{bob.user_id}/switch", {}, bob.token)).status_code == 200


async def replay_a_refresh_token(world: World, _owner: Person, bob: Person) -> None:
    spent = {"refresh_token": bob.signed.refresh_token}
    assert (await world.post("/api/auth/refresh", spent)).status_code == 200
    assert (await world.post("/api/auth/refresh", spent)).status_code == 401


async def end_it_as_the_operator(world: World, _owner: Person, bob: Person) -> None:
    await in_thread(world.app.ledger.people.revoke_session, bob.session_id)
    await world.app.events.renew_user(bob.user_id)


ENDINGS: tuple[Ending, ...] = (
    log_out, log_out_by_the_refresh_token, change_the_password, change_the_password_elsewhere, reset_the_password,
    end_the_session_elsewhere, delete_the_account_elsewhere, leave, be_removed, switch, replay_a_refresh_token,
    end_it_as_the_operator,
)  # fmt: skip


def named(ending: Ending) -> str:
    return ending.__name__.replace("_", " ")


async def closes(world: World, token: str, end: Callable[[], Awaitable[None]]) -> bool:
    async with world.socket(bearer(token)) as socket:
        await socket.send('{"type": "ping"}')
        assert "pong" in str(await socket.recv())
        await end()
        with anyio.fail_after(SOON), suppress(ConnectionClosed):
            while True:
                await socket.recv()
    return True


@pytest.mark.parametrize("ending", ENDINGS, ids=named)
async def test_a_session_that_has_ended_opens_nothing_on_any_surface(world: World, ada: Person, ending: Ending) -> None:
    bob = await world.person("bob", of=ada, role="member")
    for surface in SURFACES:
        assert (await world.ask(surface, bearer(bob.token))).admitted

    assert await closes(world, bob.token, lambda: ending(world, ada, bob))
    for surface in SURFACES:
        for headers in (bearer(bob.token), cookie(bob.token)):
            heard = await world.ask(surface, headers)
            refused = 403 if surface == "REST" and ending in (leave, be_removed) else 401
            assert (heard.admitted, heard.status in (refused, 1008)) == (False, True), (surface, heard)
            assert (refused == 403) == (surface == "REST" and "org_access_denied" in heard.text)
    spent = await world.post("/api/auth/refresh", {"refresh_token": bob.signed.refresh_token})
    assert spent.status_code == 401
    assert (await world.ask("REST", bearer(ada.token))).admitted, "nobody else is signed out"


async def test_a_deleted_organization_ends_what_was_signed_in_to_it(world: World, ada: Person) -> None:
    made = (await world.post("/api/orgs", {"name": "Doomed"}, ada.token)).json()
    token, slug = made["access_token"], made["organization"]["slug"]
    key = (await world.post(KEYS, {"name": "k", "scopes": ["mcp", "api:write"]}, token)).json()["api_key"]

    async def delete() -> None:
        assert (await world.send("DELETE", f"/api/orgs/{slug}", token=token)).status_code == 204

    assert await closes(world, key, delete)
    for surface in SURFACES:
        for credential in (token, key):
            assert not (await world.ask(surface, bearer(credential))).admitted, surface


@pytest.mark.parametrize("by", ["maker", "admin"])
async def test_a_revoked_key_opens_nothing_on_any_surface(world: World, ada: Person, by: str) -> None:
    bob = await world.person("bob", of=ada, role="admin")
    made = (await world.post(KEYS, {"name": "k", "scopes": ["mcp", "api:read"]}, bob.token)).json()
    for surface in SURFACES:
        assert (await world.ask(surface, bearer(made["api_key"]))).admitted

    async def revoke() -> None:
        token = bob.token if by == "maker" else ada.token
        assert (await world.post(f"{KEYS}/{made['id']}/revoke", {}, token)).status_code == 200

    assert await closes(world, made["api_key"], revoke)
    for surface in SURFACES:
        assert not (await world.ask(surface, bearer(made["api_key"]))).admitted


@pytest.mark.parametrize("ending", [be_removed, delete_the_account_elsewhere], ids=named)
async def test_a_key_ends_with_its_makers_membership(world: World, ada: Person, ending: Ending) -> None:
    bob = await world.person("bob", of=ada, role="admin")
    made = (await world.post(KEYS, {"name": "k", "scopes": ["mcp", "api:read"]}, bob.token)).json()
    assert await closes(world, made["api_key"], lambda: ending(world, ada, bob))
    for surface in SURFACES:
        assert not (await world.ask(surface, bearer(made["api_key"]))).admitted


async def test_a_lesser_role_holds_with_the_next_request(world: World, ada: Person) -> None:
    bob = await world.person("bob", of=ada, role="member")
    assert (await world.post("/api/entities", {"name": "n"}, bob.token)).status_code == 201
    path = f"/api/orgs/{ada.signed.identity.organization.slug}/members/{bob.user_id}"
    assert (await world.send("PATCH", path, {"role": "viewer"}, ada.token)).status_code == 200
    refused = await world.post("/api/entities", {"name": "n"}, bob.token)
    assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
