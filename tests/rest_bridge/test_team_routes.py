"""Teams: who may do what, and that what a team gives and takes holds at once."""

from typing import Any

import anyio
import pytest

from auth.api_keys import KeyRequest
from stores.ledger import AuditDraft, AuditQuery
from stores.records import Role
from tests.rest_bridge.harness import Client, Person, assert_envelope, joined, sign_up
from tools.app import App
from tools.frame.threads import in_thread

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]

TEAMS = "/api/teams"


async def team(client: Client, person: Person, name: str = "Core", *members: Person) -> str:
    made = await client.post(TEAMS, json={"name": name}, headers=person.bearer)
    assert made.status_code == 201, made.text
    path = f"{TEAMS}/{made.json()['id']}"
    for member in members:
        added = await client.post(f"{path}/members", json={"user_id": member.user_id}, headers=person.bearer)
        assert added.status_code == 200, added.text
    return path


async def project(client: Client, person: Person, visibility: str = "private") -> str:
    body = {"name": "P", "entity_type": "project", "metadata": {"visibility": visibility}}
    made = await client.post("/api/entities", json=body, headers=person.bearer)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def give(client: Client, person: Person, path: str, project_id: str, role: str) -> None:
    body = {"project_id": project_id, "role": role}
    given = await client.post(f"{path}/projects", json=body, headers=person.bearer)
    assert given.json() == body, given.text


async def task_status(client: Client, person: Person, project_id: str) -> int:
    body = {"name": "T", "entity_type": "task", "metadata": {"project_id": project_id}}
    return (await client.post("/api/entities", json=body, headers=person.bearer)).status_code


async def test_a_team_is_made_renamed_listed_and_deleted(client: Client, app: App, ada: Person) -> None:
    made = await client.post(TEAMS, json={"name": " Core & Co. ", "description": " All. "}, headers=ada.bearer)
    shown = made.json()
    assert made.status_code == 201
    assert set(shown) == {"id", "name", "slug", "description", "is_member", "created_at"}
    assert (shown["name"], shown["slug"], shown["description"]) == ("Core & Co.", "core-co", "All.")
    assert shown["is_member"] is False
    alike = await client.post(TEAMS, json={"name": "Core Co"}, headers=ada.bearer)
    assert alike.json()["slug"].startswith("core-co-")
    one = f"{TEAMS}/{shown['id']}"
    taken = await client.post(TEAMS, json={"name": "x", "slug": "core-co"}, headers=ada.bearer)
    assert "another name" in assert_envelope(taken, 409, "conflict")["remediation"]
    assert_envelope(await client.patch(one, json={}, headers=ada.bearer), 400, "invalid_request")
    changed = await client.patch(one, json={"slug": "kernel", "description": ""}, headers=ada.bearer)
    assert changed.json() == {**shown, "slug": "kernel", "description": ""}
    assert (await client.get(one, headers=ada.bearer)).json() == changed.json()
    listed = (await client.get(TEAMS, headers=ada.bearer)).json()["teams"]
    assert [each["id"] for each in listed] == [shown["id"], alike.json()["id"]]
    assert (await client.delete(one, headers=ada.bearer)).status_code == 204
    assert_envelope(await client.get(one, headers=ada.bearer), 404, "not_found")
    entries = app.ledger.audit.entries(AuditQuery(ada.organization_id, action="team."))
    assert [entry.draft.action for entry in entries] == ["team.delete", "team.update", "team.create", "team.create"]
    assert entries[0].draft.details == {"slug": "kernel"}
    assert entries[1].draft.details == {"changed": ["slug", "description"]}


@pytest.mark.parametrize("fields", [{"name": " "}, {"name": "x" * 256}, {"name": "x", "slug": "No Slug"}, {}])
async def test_a_team_needs_a_valid_name_and_slug(client: Client, ada: Person, fields: dict[str, Any]) -> None:
    assert_envelope(await client.post(TEAMS, json=fields, headers=ada.bearer), 422, "validation_error")
    assert (await client.get(TEAMS, headers=ada.bearer)).json() == {"teams": []}


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_only_admins_change_teams(client: Client, app: App, ada: Person, role: Role) -> None:
    reader, admin = joined(app, ada, role), joined(app, ada, "admin")
    path = await team(client, admin, "Core", reader)
    (listed,) = (await client.get(TEAMS, headers=reader.bearer)).json()["teams"]
    assert listed["is_member"] is True
    (shown,) = (await client.get(f"{path}/members", headers=reader.bearer)).json()["members"]
    assert (shown["user"]["id"], shown["org_role"]) == (reader.user_id, role)
    attempts: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", TEAMS, {"name": "mine"}), ("PATCH", path, {"name": "mine"}), ("DELETE", path, {}),
        ("POST", f"{path}/members", {"user_id": ada.user_id}), ("DELETE", f"{path}/members/{reader.user_id}", {}),
        ("POST", f"{path}/projects", {"project_id": "p"}), ("DELETE", f"{path}/projects/p", {}),
    ]  # fmt: skip
    for method, target, body in attempts:
        refused = await client.request(method, target, json=body or None, headers=reader.bearer)
        assert_envelope(refused, 403, "forbidden")


async def test_foreign_teams_answer_as_unknown_ones(client: Client, app: App, ada: Person) -> None:
    theirs = (await team(client, sign_up(app))).rpartition("/")[2]
    attempts: list[tuple[str, str, dict[str, Any] | None]] = [
        ("GET", "", None), ("PATCH", "", {"name": "mine"}), ("DELETE", "", None), ("GET", "/members", None),
        ("POST", "/members", {"user_id": ada.user_id}), ("DELETE", f"/members/{ada.user_id}", None),
        ("GET", "/projects", None), ("POST", "/projects", {"project_id": "p"}), ("DELETE", "/projects/p", None),
    ]  # fmt: skip
    for method, end, body in attempts:
        said = []
        for each in (theirs, "nowhere"):
            answer = await client.request(method, f"{TEAMS}/{each}{end}", json=body, headers=ada.bearer)
            said.append(assert_envelope(answer, 404, "not_found")["message"].replace(each, "*"))
        assert said[0] == said[1]


async def test_only_members_of_the_organization_join_and_each_once(client: Client, app: App, ada: Person) -> None:
    path, member, outsider = await team(client, ada), joined(app, ada, "member"), sign_up(app)
    members = f"{path}/members"
    for user_id in (outsider.user_id, "nobody"):
        refused = await client.post(members, json={"user_id": user_id}, headers=ada.bearer)
        assert_envelope(refused, 400, "invalid_request")
    added = await client.post(members, json={"user_id": member.user_id}, headers=ada.bearer)
    assert (added.json()["user"]["id"], added.json()["org_role"]) == (member.user_id, "member")
    twice = await client.post(members, json={"user_id": member.user_id}, headers=ada.bearer)
    assert_envelope(twice, 409, "conflict")
    one = f"{members}/{member.user_id}"
    assert (await client.delete(one, headers=ada.bearer)).json() == {"success": True}
    assert_envelope(await client.delete(one, headers=ada.bearer), 404, "not_found")
    assert (await client.get(members, headers=ada.bearer)).json() == {"members": []}


async def test_a_role_of_a_team_opens_a_project_and_ends_at_once(client: Client, app: App, ada: Person) -> None:
    member, hidden = joined(app, ada, "member"), await project(client, ada)
    path = await team(client, ada, "Core", member)
    assert await task_status(client, member, hidden) == 404
    await give(client, ada, path, hidden, "project_viewer")
    assert (await client.get(f"/api/entities/{hidden}", headers=member.bearer)).status_code == 200
    assert await task_status(client, member, hidden) == 403
    await give(client, ada, path, hidden, "project_contributor")
    assert await task_status(client, member, hidden) == 201
    app.ledger.project_members.add(ada.organization_id, hidden, member.user_id, "project_viewer")
    assert await task_status(client, member, hidden) == 201, "the greater role counts"
    app.ledger.project_members.remove(ada.organization_id, hidden, member.user_id)
    gone = await client.delete(f"{path}/projects/{hidden}", headers=ada.bearer)
    assert gone.json() == {"success": True}
    assert await task_status(client, member, hidden) == 404
    assert_envelope(await client.delete(f"{path}/projects/{hidden}", headers=ada.bearer), 404, "not_found")
    await give(client, ada, path, hidden, "project_contributor")
    await client.delete(f"{path}/members/{member.user_id}", headers=ada.bearer)
    assert await task_status(client, member, hidden) == 404
    await client.post(f"{path}/members", json={"user_id": member.user_id}, headers=ada.bearer)
    assert await task_status(client, member, hidden) == 201
    await client.delete(path, headers=ada.bearer)
    assert await task_status(client, member, hidden) == 404
    entries = app.ledger.audit.entries(AuditQuery(ada.organization_id, action="team_project."))
    assert [each.draft.details["from"] for each in entries][1:] == ["project_contributor", "project_viewer", None]


async def test_whoever_leaves_the_organization_leaves_its_teams(client: Client, app: App, ada: Person) -> None:
    member = joined(app, ada, "member")
    path = await team(client, ada, "Core", member)
    organization = app.ledger.people.organization(ada.organization_id)
    assert organization is not None
    one = f"/api/orgs/{organization.slug}/members/{member.user_id}"
    assert (await client.delete(one, headers=ada.bearer)).status_code == 200
    assert (await client.get(f"{path}/members", headers=ada.bearer)).json() == {"members": []}
    app.ledger.people.add_membership(member.user_id, ada.organization_id, "member")
    assert app.ledger.people.access(member.user_id, ada.organization_id).team_ids == frozenset()


async def test_only_existing_projects_are_given_and_readable_shown(client: Client, app: App, ada: Person) -> None:
    inside, outside = joined(app, ada, "member"), joined(app, ada, "member")
    path = await team(client, ada, "Core", inside)
    hidden, public = await project(client, ada), await project(client, ada, "org")
    for project_id in (hidden, public):
        await give(client, ada, path, project_id, "project_maintainer")
    shown = {
        person.user_id: {
            each["project_id"]
            for each in (await client.get(f"{path}/projects", headers=person.bearer)).json()["projects"]
        }
        for person in (ada, inside, outside)
    }
    assert shown == {ada.user_id: {hidden, public}, inside.user_id: {hidden, public}, outside.user_id: {public}}
    gone = await project(client, ada)
    await client.delete(f"/api/entities/{gone}", headers=ada.bearer)
    for project_id in (gone, "nowhere", await project(client, sign_up(app))):
        refused = await client.post(f"{path}/projects", json={"project_id": project_id}, headers=ada.bearer)
        assert_envelope(refused, 404, "not_found")
    owning = await client.post(
        f"{path}/projects", json={"project_id": public, "role": "project_owner"}, headers=ada.bearer
    )
    assert_envelope(owning, 422, "validation_error")


async def test_keys_manage_no_teams_and_narrowed_ones_see_none(client: Client, app: App, ada: Person) -> None:
    project_id, path = await project(client, ada), await team(client, ada, "Core", ada)
    await give(client, ada, path, project_id, "project_viewer")
    principal = app.accounts.authenticate(ada.token)

    def key(*project_ids: str) -> dict[str, str]:
        wanted = KeyRequest("k", True, ("api:read", "api:write"), project_ids, None)
        draft = AuditDraft("api_key.create", ada.organization_id, ada.user_id)
        return {"Authorization": f"Bearer {app.accounts.keys.create(principal, wanted, draft)[1]}"}

    whole, narrowed = key(), key(project_id)
    for end in ("", "/members", "/projects"):
        assert (await client.get(path + end, headers=whole)).status_code == 200
        assert_envelope(await client.get(path + end, headers=narrowed), 403, "forbidden")
    assert_envelope(await client.get(TEAMS, headers=narrowed), 403, "forbidden")
    for headers in (whole, narrowed):
        assert_envelope(await client.post(TEAMS, json={"name": "x"}, headers=headers), 403, "forbidden")
        assert_envelope(await client.delete(path, headers=headers), 403, "forbidden")


async def test_role_changes_are_announced_and_hold_for_open_sockets(client: Client, app: App, ada: Person) -> None:
    inside, outside = joined(app, ada, "member"), joined(app, ada, "member")
    project_id, path = await project(client, ada), await team(client, ada, "Core")
    principals = [await in_thread(app.accounts.authenticate, each.token) for each in (inside, outside)]
    one = f"{path}/members/{inside.user_id}"
    async with app.events.subscribe(principals[0]) as mine, app.events.subscribe(principals[1]) as theirs:
        await give(client, ada, path, project_id, "project_viewer")
        await client.post(f"{path}/members", json={"user_id": inside.user_id}, headers=ada.bearer)
        assert mine.principal.project_roles == {project_id: "project_viewer"}
        await give(client, ada, path, project_id, "project_viewer")
        await give(client, ada, path, project_id, "project_contributor")
        await client.delete(one, headers=ada.bearer)
        assert mine.principal.project_roles == {}
        await client.post(f"{path}/members", json={"user_id": inside.user_id}, headers=ada.bearer)
        await client.delete(path, headers=ada.bearer)
        mine.cut_off()
        theirs.cut_off()
        with anyio.fail_after(5):
            heard = [event.data async for event in mine if event.name == "permission_changed"]
            assert [event async for event in theirs if event.name == "permission_changed"] == []
    whose = {"user_id": inside.user_id, "project_id": project_id}
    assert heard == [
        {**whose, "change_type": "project_member_added", "project_role": "project_viewer"},
        {**whose, "change_type": "project_role_changed", "project_role": "project_contributor"},
        {**whose, "change_type": "project_member_removed", "project_role": "project_contributor"},
        {**whose, "change_type": "project_member_added", "project_role": "project_contributor"},
        {**whose, "change_type": "project_member_removed", "project_role": "project_contributor"},
    ]


async def test_a_role_that_stays_for_another_reason_is_no_news(client: Client, app: App, ada: Person) -> None:
    member, project_id = joined(app, ada, "member"), await project(client, ada)
    app.ledger.project_members.add(ada.organization_id, project_id, member.user_id, "project_maintainer")
    path = await team(client, ada, "Core", member)
    async with app.events.subscribe(await in_thread(app.accounts.authenticate, member.token)) as mine:
        await give(client, ada, path, project_id, "project_contributor")
        await client.delete(path, headers=ada.bearer)
        mine.cut_off()
        assert [event.name async for event in mine] == []


async def test_team_records_are_for_present_members(client: Client, app: App, ada: Person) -> None:
    author, mate, outside = (joined(app, ada, "member") for _ in range(3))
    path = await team(client, ada, "Core", author, mate)
    scope = {"memory_scope": "team", "scope_key": path.rpartition("/")[2]}
    made = await client.post("/api/entities", json={"name": "n", "metadata": scope}, headers=author.bearer)
    assert made.status_code == 201, made.text
    assert {key: made.json()["metadata"][key] for key in scope} == scope
    one = f"/api/entities/{made.json()['id']}"

    async def statuses() -> list[int]:
        return [(await client.get(one, headers=who.bearer)).status_code for who in (author, mate, outside, ada)]

    assert await statuses() == [200, 200, 404, 404]
    asked = [await client.post("/api/search", json={"query": "n", **scope}, headers=who.bearer) for who in (mate, ada)]
    assert [each.status_code for each in asked] == [200, 403]
    for who in (outside, ada):
        refused = await client.post("/api/entities", json={"name": "n", "metadata": scope}, headers=who.bearer)
        assert "unverified_membership" in assert_envelope(refused, 403, "forbidden")["message"]
    changed = await client.patch(one, json={"name": "m", "metadata": {"k": 1}}, headers=mate.bearer)
    assert (changed.status_code, changed.json()["metadata"]["memory_scope"]) == (200, "team")
    widened = {"metadata": {"memory_scope": "organization"}}
    assert_envelope(await client.patch(one, json=widened, headers=mate.bearer), 403, "forbidden")
    principal = await in_thread(app.accounts.authenticate, mate.token)
    async with app.events.subscribe(principal) as heard:
        gone = await client.delete(f"{path}/members/{mate.user_id}", headers=ada.bearer)
        assert gone.status_code == 200
        assert await statuses() == [200, 404, 404, 404]
        assert heard.principal.visible.isdisjoint({f"team:{scope['scope_key']}"})
    await client.delete(path, headers=ada.bearer)
    await team(client, ada, "Core", author)
    assert await statuses() == [404, 404, 404, 404]


async def test_an_author_moves_records_but_no_project_into_a_team(client: Client, app: App, ada: Person) -> None:
    member, project_id = joined(app, ada, "member"), await project(client, ada)
    team_id = (await team(client, ada, "Core", ada, member)).rpartition("/")[2]
    scope = {"metadata": {"memory_scope": "team", "scope_key": team_id}}
    made = await client.post("/api/entities", json={"name": "n"}, headers=ada.bearer)
    one = f"/api/entities/{made.json()['id']}"
    nameless = await client.patch(one, json={"metadata": {"memory_scope": "team"}}, headers=ada.bearer)
    assert_envelope(nameless, 400, "missing_scope_key")
    assert (await client.patch(one, json=scope, headers=ada.bearer)).json()["metadata"]["scope_key"] == team_id
    placed = await client.patch(one, json={"metadata": {"project_id": project_id}}, headers=ada.bearer)
    assert placed.json()["metadata"]["memory_scope"] == "team"
    assert (await client.get(one, headers=member.bearer)).status_code == 200
    back = await client.patch(one, json={"metadata": {"memory_scope": "project"}}, headers=ada.bearer)
    assert back.json()["metadata"]["scope_key"] == project_id
    assert (await client.get(one, headers=member.bearer)).status_code == 404
    refused = await client.patch(f"/api/entities/{project_id}", json=scope, headers=ada.bearer)
    assert "give the team a role" in assert_envelope(refused, 400, "invalid_request")["remediation"]
