"""Organizations and their members: who may do what, and that it holds at once."""

from typing import Any

import anyio
import pytest

from stores.ledger import AuditQuery
from stores.records import Role
from tests.rest_bridge.harness import Client, Person, assert_envelope, sign_up
from tools.app import App
from tools.frame.threads import in_thread

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]


def slug_of(app: App, person: Person) -> str:
    organization = app.ledger.people.organization(person.organization_id)
    assert organization is not None
    return organization.slug


def path_of(app: App, person: Person) -> str:
    return f"/api/orgs/{slug_of(app, person)}"


def joined(app: App, owner: Person, role: Role) -> Person:
    somebody = sign_up(app)
    app.ledger.people.add_membership(somebody.user_id, owner.organization_id, role)
    return somebody


async def test_a_new_organization_takes_the_session_with_it(client: Client, ada: Person) -> None:
    made = await client.post("/api/orgs", json={"name": "Analytical Engines, Ltd."}, headers=ada.bearer)
    client.cookies.clear()
    assert made.status_code == 201
    assert made.json()["organization"]["slug"] == "analytical-engines-ltd"
    assert len(made.headers.get_list("set-cookie")) == 2
    assert_envelope(await client.get("/api/auth/me", headers=ada.bearer), 401, "authentication_required")
    fresh = {"Authorization": f"Bearer {made.json()['access_token']}"}
    me = (await client.get("/api/auth/me", headers=fresh)).json()
    assert (me["organization"]["id"], me["org_role"]) == (made.json()["organization"]["id"], "owner")
    again = await client.post("/api/orgs", json={"name": "x", "slug": "analytical-engines-ltd"}, headers=fresh)
    assert_envelope(again, 409, "conflict")
    named_alike = await client.post("/api/orgs", json={"name": "Analytical Engines, Ltd."}, headers=fresh)
    assert named_alike.json()["organization"]["slug"].startswith("analytical-engines-ltd-")


async def test_of_organizations_that_are_named_alike_at_once_each_gets_a_slug(client: Client, app: App) -> None:
    name, made = f"Twins {app.new_id('n')}", []

    async def make(person: Person) -> None:
        made.append(await client.post("/api/orgs", json={"name": name}, headers=person.bearer))

    async with anyio.create_task_group() as tasks:
        for person in [sign_up(app) for _ in range(4)]:
            tasks.start_soon(make, person)
    client.cookies.clear()
    assert [each.status_code for each in made] == [201] * 4
    assert len({each.json()["organization"]["slug"] for each in made}) == 4


async def test_the_slugs_of_personal_organizations_are_no_others(client: Client, app: App, ada: Person) -> None:
    asked = await client.post("/api/orgs", json={"name": "x", "slug": f"u-{app.new_id('x')}"}, headers=ada.bearer)
    assert assert_envelope(asked, 422, "validation_error")["details"]["field"] == "body.slug"
    renamed = await client.patch(path_of(app, ada), json={"slug": "u-x"}, headers=ada.bearer)
    assert_envelope(renamed, 422, "validation_error")
    home = f"u-{ada.user_id}"
    kept = await client.patch(f"/api/orgs/{home}", json={"name": "Mine", "slug": home}, headers=ada.bearer)
    assert kept.json()["organization"]["name"] == "Mine"
    named = await client.post("/api/orgs", json={"name": "U x"}, headers=ada.bearer)
    client.cookies.clear()
    assert named.json()["organization"]["slug"].startswith("org-u-x-")


async def test_a_refused_organization_leaves_the_session_where_it_was(client: Client, ada: Person) -> None:
    for fields in ({"name": " "}, {"name": "x", "slug": "No Slug"}, {"name": "x" * 256}):
        refused = await client.post("/api/orgs", json=fields, headers=ada.bearer)
        assert_envelope(refused, 422, "validation_error")
    listed = (await client.get("/api/orgs", headers=ada.bearer)).json()["orgs"]
    assert [(each["is_personal"], each["role"]) for each in listed] == [(True, "owner"), (False, "owner")]


async def test_switching_rotates_both_tokens(client: Client, app: App, ada: Person) -> None:
    guest = joined(app, ada, "viewer")
    answer = await client.post(f"{path_of(app, ada)}/switch", headers=guest.bearer)
    client.cookies.clear()
    body = answer.json()
    assert answer.status_code == 200
    assert set(body) == {"organization", "access_token", "refresh_token", "token_type", "expires_in"}
    assert body["organization"]["id"] == ada.organization_id
    assert [line.partition("=")[0] for line in answer.headers.get_list("set-cookie")] == [
        "engrain_access_token",
        "engrain_refresh_token",
    ]
    assert (await client.get("/api/auth/me", headers=guest.bearer)).status_code == 401
    me = await client.get("/api/auth/me", headers={"Authorization": f"Bearer {body['access_token']}"})
    assert (me.json()["organization"]["id"], me.json()["org_role"]) == (ada.organization_id, "viewer")
    refreshed = await client.post("/api/auth/refresh", json={"refresh_token": body["refresh_token"]})
    assert refreshed.status_code == 200


async def test_admins_rename_and_owners_delete(client: Client, app: App, ada: Person) -> None:
    path, admin, member = path_of(app, ada), joined(app, ada, "admin"), joined(app, ada, "member")
    assert_envelope(await client.patch(path, json={"name": "Ours"}, headers=member.bearer), 403, "forbidden")
    assert_envelope(await client.patch(path, json={}, headers=admin.bearer), 400, "invalid_request")
    taken = await client.patch(path, json={"slug": slug_of(app, sign_up(app))}, headers=admin.bearer)
    assert "another name" in assert_envelope(taken, 409, "conflict")["remediation"]
    slug = f"ours-{ada.user_id}"
    renamed = await client.patch(path, json={"name": " Ours ", "slug": slug}, headers=admin.bearer)
    assert (renamed.json()["organization"]["name"], renamed.json()["organization"]["slug"]) == ("Ours", slug)
    path = f"/api/orgs/{slug}"
    assert_envelope(await client.delete(path, headers=admin.bearer), 403, "forbidden")
    assert (await client.delete(path, headers=ada.bearer)).status_code == 204
    assert_envelope(await client.get(path, headers=member.bearer), 404, "not_found")
    assert (await client.get("/api/auth/me", headers=ada.bearer)).status_code == 403


async def test_a_personal_organization_stays(client: Client, ada: Person) -> None:
    personal = f"/api/orgs/u-{ada.user_id}"
    assert_envelope(await client.delete(personal, headers=ada.bearer), 409, "conflict")
    assert (await client.get(personal, headers=ada.bearer)).json()["organization"]["is_personal"] is True


async def test_members_join_change_and_leave_and_each_deed_is_remembered(client: Client, app: App, ada: Person) -> None:
    path, guest = f"{path_of(app, ada)}/members", sign_up(app)
    added = await client.post(path, json={"user_id": guest.user_id}, headers=ada.bearer)
    assert (added.status_code, added.json()["role"]) == (200, "member")
    twice = await client.post(path, json={"user_id": guest.user_id}, headers=ada.bearer)
    assert_envelope(twice, 409, "conflict")
    unknown = await client.post(path, json={"user_id": "nobody"}, headers=ada.bearer)
    assert_envelope(unknown, 404, "not_found")
    one = f"{path}/{guest.user_id}"
    assert (await client.patch(one, json={"role": "viewer"}, headers=ada.bearer)).json()["role"] == "viewer"
    listed = (await client.get(path, headers=guest.bearer)).json()["members"]
    assert [(each["user"]["id"], each["role"]) for each in listed] == [
        (ada.user_id, "owner"),
        (guest.user_id, "viewer"),
    ]
    assert (await client.delete(one, headers=guest.bearer)).json() == {"success": True}
    assert_envelope(await client.get(path, headers=guest.bearer), 404, "not_found")
    entries = app.ledger.audit.entries(AuditQuery(ada.organization_id, action="member."))
    assert [(entry.draft.action, entry.draft.actor_id) for entry in entries] == [
        ("member.remove", guest.user_id), ("member.role_change", ada.user_id), ("member.add", ada.user_id),
    ]  # fmt: skip
    assert all(str(entry.draft.request["request_id"]).startswith("req_") for entry in entries)


@pytest.mark.parametrize("role", ["admin", "member", "viewer"])
async def test_only_owners_change_an_owners_role(client: Client, app: App, ada: Person, role: Role) -> None:
    path, actor, other = f"{path_of(app, ada)}/members", joined(app, ada, role), joined(app, ada, "member")
    attempts: list[tuple[str, str, dict[str, Any]]] = [
        ("PATCH", f"/{ada.user_id}", {"role": "member"}), ("DELETE", f"/{ada.user_id}", {}),
        ("PATCH", f"/{actor.user_id}", {"role": "owner"}), ("PATCH", f"/{other.user_id}", {"role": "owner"}),
        ("POST", "", {"user_id": sign_up(app).user_id, "role": "owner"}),
    ]  # fmt: skip
    for method, end, body in attempts:
        refused = await client.request(method, path + end, json=body, headers=actor.bearer)
        assert_envelope(refused, 403, "forbidden")
    fair = await client.patch(f"{path}/{other.user_id}", json={"role": "viewer"}, headers=actor.bearer)
    assert fair.status_code == (200 if role == "admin" else 403)


async def test_the_last_owner_stays(client: Client, app: App, ada: Person) -> None:
    path = f"{path_of(app, ada)}/members/{ada.user_id}"
    assert_envelope(await client.patch(path, json={"role": "admin"}, headers=ada.bearer), 409, "conflict")
    assert_envelope(await client.delete(path, headers=ada.bearer), 409, "conflict")
    heir = joined(app, ada, "owner")
    assert (await client.delete(path, headers=heir.bearer)).status_code == 200
    assert (await client.get("/api/auth/me", headers=ada.bearer)).status_code == 403


@pytest.mark.parametrize(("method", "body"), [("PATCH", {"role": "member"}), ("DELETE", None)])
async def test_of_two_owners_who_turn_on_each_other_at_once_one_stays(
    client: Client, app: App, ada: Person, method: str, body: dict[str, Any] | None
) -> None:
    path, other = f"{path_of(app, ada)}/members", joined(app, ada, "owner")
    statuses = []

    async def turn_on(actor: Person, target: Person) -> None:
        answer = await client.request(method, f"{path}/{target.user_id}", json=body, headers=actor.bearer)
        statuses.append(answer.status_code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(turn_on, ada, other)
        tasks.start_soon(turn_on, other, ada)
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 401, 403, 404}
    assert [each.role for each in app.ledger.people.members(ada.organization_id)].count("owner") == 1


async def test_rights_changes_are_announced_and_hold_for_sockets(client: Client, app: App, ada: Person) -> None:
    path = f"{path_of(app, ada)}/members"
    first, heir = await in_thread(app.accounts.authenticate, ada.token), joined(app, ada, "owner")
    async with app.events.subscribe(first) as stream:
        await client.patch(f"{path}/{ada.user_id}", json={"role": "viewer"}, headers=heir.bearer)
        assert stream.principal.role == "viewer"
        await client.delete(f"{path}/{ada.user_id}", headers=heir.bearer)
        with anyio.fail_after(5):
            told = [event async for event in stream]
    assert [event.name for event in told] == ["permission_changed"] * 2
    assert [event.data["change_type"] for event in told] == ["org_role_changed", "org_member_removed"]
    assert told[0].data == {"user_id": ada.user_id, "change_type": "org_role_changed", "org_role": "viewer"}
