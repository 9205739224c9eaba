"""Invitations and the members of projects, as clients see them."""

import re
import socket
from collections.abc import AsyncIterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import anyio
import pytest

from rest_bridge.application import build_asgi
from tests.mail_server import MailServer
from tests.people import PASSWORD
from tests.rest_bridge.harness import Client, Person, assert_envelope, client_of, joined, opened, settings_at, sign_up
from tools.app import App
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with client_of(build_asgi(app)) as client:
        yield client


def path_of(app: App, person: Person) -> str:
    organization = app.ledger.people.organization(person.organization_id)
    assert organization is not None
    return f"/api/orgs/{organization.slug}/invitations"


def email_of(app: App, person: Person) -> str:
    user = app.ledger.people.user(person.user_id)
    assert user is not None
    return user.email


async def invited(client: Client, app: App, owner: Person, email: str, **fields: Any) -> str:
    made = await client.post(path_of(app, owner), json={"email": email, **fields}, headers=owner.bearer)
    assert made.status_code == 200, made.text
    address = str(made.json()["invitation"]["accept_url"])
    return address[address.index("/api/invitations/") :]


def token_of(path: str) -> str:
    return path.split("/")[-2]


async def test_accepting_makes_a_member_and_moves_the_session(client: Client, app: App, ada: Person) -> None:
    guest = sign_up(app)
    path = await invited(client, app, ada, email_of(app, guest).upper(), role="viewer")
    answer = await client.post(path, headers=guest.bearer)
    client.cookies.clear()
    assert (answer.status_code, answer.json()["organization_id"]) == (200, ada.organization_id)
    assert len(answer.headers.get_list("set-cookie")) == 2
    assert (await client.get("/api/auth/me", headers=guest.bearer)).status_code == 401
    fresh = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    assert (await client.get("/api/auth/me", headers=fresh)).json()["org_role"] == "viewer"
    assert_envelope(await client.post(path, headers=fresh), 400, "invalid_request")
    assert (await client.get(path_of(app, ada), headers=ada.bearer)).json() == {"invitations": []}


async def test_an_invitation_is_for_its_address_only(client: Client, app: App, ada: Person) -> None:
    path, thief = await invited(client, app, ada, "somebody@example.org"), sign_up(app)
    assert_envelope(await client.post(path, headers=thief.bearer), 400, "invalid_request")
    assert_envelope(await client.post("/api/invitations/guess/accept", headers=thief.bearer), 400, "invalid_request")
    assert app.ledger.people.member(ada.organization_id, thief.user_id) is None
    assert len((await client.get(path_of(app, ada), headers=ada.bearer)).json()["invitations"]) == 1


async def test_revoked_and_replaced_invitations_are_void(client: Client, app: App, ada: Person) -> None:
    guest = sign_up(app)
    first = await invited(client, app, ada, email_of(app, guest))
    second = await invited(client, app, ada, email_of(app, guest))
    assert_envelope(await client.post(first, headers=guest.bearer), 400, "invalid_request")
    (listed,) = (await client.get(path_of(app, ada), headers=ada.bearer)).json()["invitations"]
    assert set(listed) == {"id", "email", "role", "created_at", "expires_at"}
    one = f"{path_of(app, ada)}/{listed['id']}"
    assert (await client.delete(one, headers=ada.bearer)).json() == {"success": True}
    assert_envelope(await client.delete(one, headers=ada.bearer), 404, "not_found")
    assert_envelope(await client.post(second, headers=guest.bearer), 400, "invalid_request")


async def test_admins_invite_and_owners_alone_invite_an_owner(client: Client, app: App, ada: Person) -> None:
    path, admin, member = path_of(app, ada), joined(app, ada, "admin"), joined(app, ada, "member")
    offer = {"email": "new@example.org"}
    assert_envelope(await client.post(path, json=offer, headers=member.bearer), 403, "forbidden")
    assert_envelope(await client.get(path, headers=member.bearer), 403, "forbidden")
    assert_envelope(await client.post(path, json={**offer, "role": "owner"}, headers=admin.bearer), 403, "forbidden")
    assert (await client.post(path, json=offer, headers=admin.bearer)).status_code == 200
    owning = await client.post(path, json={"email": "heir@example.org", "role": "owner"}, headers=ada.bearer)
    one = f"{path}/{owning.json()['invitation']['id']}"
    assert_envelope(await client.delete(one, headers=admin.bearer), 403, "forbidden")
    assert_envelope(await client.get(path, headers=sign_up(app).bearer), 404, "not_found")
    for wrong in ({"email": "nonsense"}, {**offer, "expires_days": 31}, {**offer, "role": "boss"}):
        assert_envelope(await client.post(path, json=wrong, headers=ada.bearer), 422, "validation_error")
    there = await client.post(path, json={"email": email_of(app, member)}, headers=ada.bearer)
    assert_envelope(there, 409, "conflict")


async def test_sign_up_and_log_in_take_an_invitation(client: Client, app: App, ada: Person) -> None:
    other, email = sign_up(app), f"{app.new_id('new')}@example.org"
    body = {"email": email, "password": PASSWORD, "name": "New"}
    token = token_of(await invited(client, app, ada, email))
    wrong = await client.post("/api/auth/local/signup", json={**body, "email": "x@y.org", "invite_token": token})
    assert_envelope(wrong, 400, "invalid_request")
    assert app.ledger.people.user_by_email("x@y.org") is None
    made = await client.post("/api/auth/local/signup", json={**body, "invite_token": token})
    assert (made.status_code, made.json()["organization"]["id"]) == (201, ada.organization_id)
    token = token_of(await invited(client, app, other, email, role="admin"))
    entry = {"email": email, "password": PASSWORD, "invite_token": token}
    guess = await client.post("/api/auth/local/login", json={**entry, "password": "wrong"})
    assert_envelope(guess, 401, "authentication_required")
    back = await client.post("/api/auth/local/login", json=entry)
    assert (back.status_code, back.json()["organization"]["id"]) == (200, other.organization_id)
    assert_envelope(await client.post("/api/auth/local/login", json=entry), 400, "invalid_request")
    client.cookies.clear()


async def test_a_void_invitation_starts_no_session_at_log_in(client: Client, app: App, ada: Person) -> None:
    email = f"{app.new_id('new')}@example.org"
    entry = {"email": email, "password": PASSWORD}
    user_id = (await client.post("/api/auth/local/signup", json={**entry, "name": "New"})).json()["user"]["id"]
    client.cookies.clear()
    token = token_of(await invited(client, app, ada, email))
    app.ledger.people.add_membership(user_id, ada.organization_id, "viewer")
    before = app.ledger.people.sessions(user_id)
    refused = await client.post("/api/auth/local/login", json={**entry, "invite_token": token})
    assert_envelope(refused, 400, "invalid_request")
    assert app.ledger.people.sessions(user_id) == before
    member = app.ledger.people.member(ada.organization_id, user_id)
    assert member is not None
    assert member.role == "viewer"


async def test_an_invitation_by_a_removed_owner_is_void(client: Client, app: App, ada: Person) -> None:
    other, evil = joined(app, ada, "owner"), sign_up(app)
    path = await invited(client, app, other, email_of(app, evil), role="owner")
    members = path_of(app, ada).replace("invitations", "members")
    assert (await client.delete(f"{members}/{other.user_id}", headers=ada.bearer)).status_code == 200
    assert_envelope(await client.post(path, headers=evil.bearer), 400, "invalid_request")
    assert app.ledger.people.member(ada.organization_id, evil.user_id) is None


def mailed(app: App, email: str) -> EmailMessage:
    letters = [message_from_bytes(path.read_bytes(), policy=policy.default) for path in app.mailer.folder.iterdir()]
    found = [letter for letter in letters if letter["To"] == email]
    assert isinstance(found[-1], EmailMessage)
    return found[-1]


async def test_an_invitation_is_mailed_with_all_that_accepting_takes(client: Client, app: App, ada: Person) -> None:
    guest = sign_up(app)
    email = email_of(app, guest)
    app.ledger.people.edit_organization(ada.organization_id, name="Shady\nBcc: x@y.org https://evil.example/")
    made = await client.post(path_of(app, ada), json={"email": email, "role": "viewer"}, headers=ada.bearer)
    assert made.json()["mail"] == "kept"
    letter = mailed(app, email)
    assert letter["Subject"].strip() == "Ada invites you to Shady Bcc: x@y.org https: //evil.example/ on Engrain"
    assert letter["Bcc"] is None
    assert made.json()["invitation"]["accept_url"] in letter.as_string(), "whole, for whoever reads the file"
    address = made.json()["invitation"]["accept_url"]
    text = letter.get_content()
    assert {address} == set(re.findall(r"\S*://\S+", text)) - {"//evil.example/"}
    assert "as viewer" in text
    assert (await client.post(address[address.index("/api/") :], headers=guest.bearer)).status_code == 200
    client.cookies.clear()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("answers", [True, False], ids=["taken", "no server"])
async def test_a_mail_that_fails_is_said_and_does_not_lose_the_invitation(tmp_path: Path, answers: bool) -> None:
    with MailServer().running() as server:
        port = server.port if answers else closed_port()
        settings = settings_at(tmp_path, smtp_host="127.0.0.1", smtp_port=port, smtp_security="none")
        async with opened(settings) as app, client_of(build_asgi(app)) as client:
            ada, guest = sign_up(app), sign_up(app)
            body = {"email": email_of(app, guest)}
            made = await client.post(path_of(app, ada), json=body, headers=ada.bearer)
            assert (made.status_code, made.json()["mail"]) == (200, "sent" if answers else "failed")
            address = made.json()["invitation"]["accept_url"]
            joining = await client.post(address[address.index("/api/") :], headers=guest.bearer)
            assert (joining.status_code, joining.json()["organization_id"]) == (200, ada.organization_id)
    assert len(server.taken) == int(answers)


async def test_a_repeated_invitation_is_made_and_mailed_once(client: Client, app: App, ada: Person) -> None:
    headers, body = {**ada.bearer, "Idempotency-Key": "once"}, {"email": "once@example.org"}
    made = await client.post(path_of(app, ada), json=body, headers=headers)
    again = await client.post(path_of(app, ada), json=body, headers=headers)
    assert made.status_code == 200
    assert_envelope(again, 409, "conflict")
    pending = (await client.get(path_of(app, ada), headers=ada.bearer)).json()["invitations"]
    assert [each["id"] for each in pending] == [made.json()["invitation"]["id"]]
    assert mailed(app, "once@example.org")["Subject"].strip().startswith("Ada invites you")


async def project(client: Client, person: Person, visibility: str = "private") -> str:
    body = {"name": "P", "entity_type": "project", "metadata": {"visibility": visibility}, "sync": True}
    made = await client.post("/api/entities", json=body, headers=person.bearer)
    assert made.status_code == 201, made.text
    return f"/api/projects/{made.json()['id']}/members"


async def test_a_role_opens_a_private_project_while_it_lasts(client: Client, app: App, ada: Person) -> None:
    creator, member = joined(app, ada, "member"), joined(app, ada, "member")
    path = await project(client, creator)
    assert_envelope(await client.get(path, headers=member.bearer), 404, "not_found")
    added = await client.post(path, json={"user_id": member.user_id}, headers=creator.bearer)
    assert (added.status_code, added.json()["role"]) == (200, "project_contributor")
    twice = await client.post(path, json={"user_id": member.user_id}, headers=creator.bearer)
    assert_envelope(twice, 409, "conflict")
    seen = (await client.get(path, headers=member.bearer)).json()
    roles = [(each["user"]["id"], each["role"]) for each in seen["members"]]
    assert roles == [(creator.user_id, "project_owner"), (member.user_id, "project_contributor")]
    assert seen["can_manage"] is False
    one = f"{path}/{member.user_id}"
    higher = {"role": "project_maintainer"}
    assert_envelope(await client.patch(one, json=higher, headers=member.bearer), 403, "forbidden")
    raised = await client.patch(one, json=higher, headers=creator.bearer)
    assert raised.json()["role"] == "project_maintainer"
    assert (await client.get(path, headers=member.bearer)).json()["can_manage"] is True
    assert (await client.delete(one, headers=ada.bearer)).json() == {"success": True}
    assert_envelope(await client.get(path, headers=member.bearer), 404, "not_found")


async def test_creators_stay_owners_and_only_members_get_roles(client: Client, app: App, ada: Person) -> None:
    path, outsider, viewer = await project(client, ada, "org"), sign_up(app), joined(app, ada, "viewer")
    for refused in (
        await client.patch(f"{path}/{ada.user_id}", json={"role": "project_viewer"}, headers=ada.bearer),
        await client.delete(f"{path}/{ada.user_id}", headers=ada.bearer),
        await client.post(path, json={"user_id": outsider.user_id}, headers=ada.bearer),
    ):
        assert_envelope(refused, 400, "invalid_request")
    made_owner = await client.post(path, json={"user_id": viewer.user_id, "role": "project_owner"}, headers=ada.bearer)
    assert_envelope(made_owner, 422, "validation_error")
    nobody = await client.delete(f"{path}/{viewer.user_id}", headers=ada.bearer)
    assert_envelope(nobody, 404, "not_found")
    await client.post(path, json={"user_id": viewer.user_id, "role": "project_maintainer"}, headers=ada.bearer)
    assert (await client.get(path, headers=viewer.bearer)).json()["can_manage"] is False
    assert_envelope(await client.get(path, headers=outsider.bearer), 404, "not_found")
    assert_envelope(await client.get("/api/projects/nowhere/members", headers=ada.bearer), 404, "not_found")


async def test_those_who_may_read_a_project_hear_who_gets_a_role(client: Client, app: App, ada: Person) -> None:
    path = await project(client, ada)
    member, other = joined(app, ada, "member"), joined(app, ada, "member")
    principals = [await in_thread(app.accounts.authenticate, each.token) for each in (member, other)]
    async with app.events.subscribe(principals[0]) as mine, app.events.subscribe(principals[1]) as theirs:
        await client.post(path, json={"user_id": member.user_id}, headers=ada.bearer)
        with anyio.fail_after(5):
            event = await anext(aiter(mine))
        assert (event.name, event.data["change_type"]) == ("permission_changed", "project_member_added")
        mine.cut_off()
        theirs.cut_off()
        assert [told async for told in theirs] == []
