"""Refresh tokens are worth one exchange. Whoever presents a spent one ends the session, thief or not."""

import re
from datetime import UTC, datetime, timedelta

import anyio
import jwt
import pytest
from sqlalchemy import update

from stores.ledger.account_tables import sessions
from stores.ledger.encoding import to_micros
from tests.people import PASSWORD, Person
from tests.security.harness import SURFACES, World, bearer
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

REFRESH = "/api/auth/refresh"


async def test_of_twenty_exchanges_at_once_at_most_one_succeeds_and_the_session_ends(world: World, ada: Person) -> None:
    answers: list[tuple[int, dict[str, str]]] = []

    async def exchange() -> None:
        answer = await world.post(REFRESH, {"refresh_token": ada.signed.refresh_token})
        answers.append((answer.status_code, answer.json()))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(exchange)
    won = [body for status, body in answers if status == 200]
    assert len(won) <= 1
    assert {status for status, _ in answers} <= {200, 401}
    for body in won:
        assert (await world.post(REFRESH, {"refresh_token": body["refresh_token"]})).status_code == 401
        for surface in SURFACES:
            assert not (await world.ask(surface, bearer(body["access_token"]))).admitted


async def test_an_exchange_does_not_prolong_the_session(world: World, ada: Person) -> None:
    before = (await world.send("GET", "/api/users/me/sessions", token=ada.token)).json()["sessions"][0]["expires_at"]
    tokens = (await world.post(REFRESH, {"refresh_token": ada.signed.refresh_token})).json()
    after = (await world.send("GET", "/api/users/me/sessions", token=tokens["access_token"])).json()["sessions"][0]
    assert after["expires_at"] == before


def end_at(world: World, person: Person, ends: datetime) -> None:
    session = person.signed.identity.session
    assert session is not None
    over = update(sessions).where(sessions.c.id == session.id).values(expires_at=to_micros(ends))
    with world.app.ledger.people._database.write() as connection:
        connection.execute(over)


async def test_neither_token_nor_cookie_outlives_the_session(world: World, ada: Person) -> None:
    ends = datetime.now(UTC) + timedelta(minutes=5)
    await in_thread(end_at, world, ada, ends)
    answer = await world.post(REFRESH, {"refresh_token": ada.signed.refresh_token})
    tokens = answer.json()
    for kind in ("access", "refresh"):
        claims = jwt.decode(tokens[f"{kind}_token"], options={"verify_signature": False})
        assert int(ends.timestamp()) - 1 <= claims["exp"] <= ends.timestamp(), kind
    cookies = " ".join(answer.headers.get_list("set-cookie"))
    lifetimes = [int(each) for each in re.findall(r"Max-Age=(\d+)", cookies)]
    for lifetime in (*lifetimes, tokens["expires_in"]):
        assert 240 < lifetime <= 300
    assert len(lifetimes) == 2


async def test_a_session_that_is_over_is_not_listed_and_opens_nothing(world: World, ada: Person) -> None:
    signed_in = await world.post("/api/auth/local/login", {"email": ada.email, "password": PASSWORD})
    mine = bearer(signed_in.json()["access_token"])
    await in_thread(end_at, world, ada, datetime.now(UTC))
    for surface in SURFACES:
        assert not (await world.ask(surface, bearer(ada.token))).admitted
        assert (await world.ask(surface, mine)).admitted
    assert (await world.post(REFRESH, {"refresh_token": ada.signed.refresh_token})).status_code == 401
    listed = await world.send("GET", "/api/users/me/sessions", token=signed_in.json()["access_token"])
    assert [each["is_current"] for each in listed.json()["sessions"]] == [True]


async def test_every_login_is_a_session_of_its_own(world: World, ada: Person) -> None:
    body = {"email": ada.email, "password": PASSWORD}
    held = {"Cookie": f"engrain_access_token={ada.token}"}
    made = [(await world.post("/api/auth/local/login", body, **held)).json() for _ in range(2)]
    listed = (await world.send("GET", "/api/users/me/sessions", token=ada.token)).json()["sessions"]
    assert len({session["id"] for session in listed}) == 3, "none is taken over from the cookie"
    assert len({each["refresh_token"] for each in made}) == 2
