"""Connected apps: everybody sees and ends what they allowed, and nothing of others."""

from typing import Any

import pytest

from auth.grants import AuthorizationRequest
from stores.errors import AuthenticationRequired, Forbidden, NotFound
from stores.ledger import AuditDraft, AuditQuery
from tests.people import Person
from tests.rest_bridge.oauth.flow import CALLBACK, CHALLENGE, RESOURCE, form
from tools.app import App
from tools.catalogue import by_name
from tools.frame.execute import execute
from tools.frame.operation import Call
from tools.frame.parsing import parse
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio


def connect(app: App, person: Any, resource: str = RESOURCE, *, name: str = "Editor") -> str:
    client, _ = app.accounts.grants.register({"redirect_uris": [CALLBACK], "client_name": name})
    asked = AuthorizationRequest(client.id, CALLBACK, True, CHALLENGE, resource)
    draft = AuditDraft("oauth.allow", person.organization_id, person.user_id)
    code = app.accounts.grants.allow(asked, person.user_id, person.organization_id, draft)
    return app.accounts.grants.redeem(client, form(code, resource)).access_token


async def test_a_person_sees_its_apps_and_disconnects_one(app: App, owner: Person) -> None:
    first, second = connect(app, owner), connect(app, owner, name="Chat")
    held = (await owner.call("list_grants"))["grants"]
    assert {each["client_name"] for each in held} == {"Editor", "Chat"}
    assert {each["organization_id"] for each in held} == {owner.organization_id}
    assert all(each["organization_name"] and each["scopes"] == ["mcp"] for each in held)
    [editor] = [each for each in held if each["client_name"] == "Editor"]
    assert await owner.call("revoke_grant", grant_id=editor["id"]) == {"success": True}
    with pytest.raises(AuthenticationRequired):
        await in_thread(app.accounts.authenticate, first)
    assert (await in_thread(app.accounts.authenticate, second)).user_id == owner.user_id
    assert [each["client_name"] for each in (await owner.call("list_grants"))["grants"]] == ["Chat"]
    await owner.refused("revoke_grant", NotFound, grant_id=editor["id"])
    [entry] = app.ledger.audit.entries(AuditQuery(owner.organization_id, action="oauth.revoke"))
    assert (entry.draft.actor_id, entry.draft.details) == (owner.user_id, {"grant_id": editor["id"]})


async def test_the_apps_of_others_do_not_exist(app: App, owner: Person, member: Person, stranger: Person) -> None:
    token = connect(app, member)
    [grant] = (await member.call("list_grants"))["grants"]
    for other in (owner, stranger):
        assert (await other.call("list_grants"))["grants"] == []
        await other.refused("revoke_grant", NotFound, grant_id=grant["id"])
    assert (await in_thread(app.accounts.authenticate, token)).user_id == member.user_id


async def test_apps_and_keys_manage_no_apps(app: App, owner: Person) -> None:
    token = connect(app, owner)
    key = (await owner.call("create_api_key", name="key", scopes=["api:write"]))["api_key"]
    [grant] = (await owner.call("list_grants"))["grants"]
    for credential in (token, key):
        principal = await in_thread(app.accounts.authenticate, credential)
        for operation in (by_name["list_grants"], by_name["revoke_grant"]):
            request = parse(operation.request, {"grant_id": grant["id"]} if operation.request.model_fields else {})
            with pytest.raises(Forbidden):
                await execute(app, operation, Call(principal), request)
    assert len((await owner.call("list_grants"))["grants"]) == 1
