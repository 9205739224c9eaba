"""What makes a call safe to repeat, over the whole catalogue."""

from dataclasses import replace

import pytest

from stores.errors import Conflict
from tests.people import PASSWORD, Person
from tools.catalogue import OPERATIONS, by_name
from tools.frame.execute import body_hash
from tools.people.account import UpdateProfileRequest

pytestmark = pytest.mark.anyio

TAKES_NO_KEY = {
    "sign_up": "the address is taken the second time",
    "log_in": "nobody is known yet who could own the key; another session is as good",
    "refresh": "a refresh token works once",
    "log_out": "nothing is left to end",
    "start_device": "nobody is known who could own the key; the other code ends by itself",
    "device_token": "a device code works once",
    "ask_for_reset": "nobody is known who could own the key; mail is sent once in two minutes",
    "confirm_reset": "a reset token works once",
    **dict.fromkeys(
        ("synthesis_plan", "synthesis_verify", "synthesis_handbook"), "nothing is written; a key needs the scope for it"
    ),
}
"""Operations that write and ignore an Idempotency-Key, and why repeating them does no second deed."""


def test_every_operation_that_writes_takes_an_idempotency_key_or_has_a_reason() -> None:
    writes = {
        operation.name
        for operation in OPERATIONS
        if operation.scope == "write" or (operation.route is not None and operation.route.method in ("PATCH", "DELETE"))
    }
    keyed = {operation.name for operation in OPERATIONS if operation.mutates}
    assert keyed <= writes
    assert writes - keyed == set(TAKES_NO_KEY)
    assert all(by_name[name].roles is not None for name in keyed), "a key belongs to somebody"


async def test_an_organization_is_made_once_for_one_key(owner: Person) -> None:
    before = {each["id"] for each in (await owner.call("list_organizations"))["orgs"]}
    await owner.run("create_organization", idempotency_key="once", name="Twice asked")
    owner.app.accounts.switch(owner.session_id, owner.organization_id)
    with pytest.raises(Conflict, match="held a secret"):
        await owner.run("create_organization", idempotency_key="once", name="Twice asked")
    after = {each["id"] for each in (await owner.call("list_organizations"))["orgs"]}
    assert len(after - before) == 1


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("update_me", {"name": "Ada Lovelace"}),
        ("update_profile", {"bio": "Counts."}),
        ("update_preferences", {"preferences": {"theme": "dark"}}),
        ("change_password", {"current_password": PASSWORD, "new_password": PASSWORD}),
    ],
)
async def test_profile_writes_are_idempotent(owner: Person, operation: str, fields: dict[str, object]) -> None:
    first = await owner.run(operation, idempotency_key=operation, **fields)
    if operation == "change_password":
        owner = replace(owner, signed=owner.app.accounts.start(owner.signed.identity.user))
    second = await owner.run(operation, idempotency_key=operation, **fields)
    assert (first.replayed, second.replayed) == (False, True)
    assert second.body() == first.body()


def test_a_field_that_is_taken_away_is_not_one_that_is_left_out() -> None:
    left_out = UpdateProfileRequest.model_validate({"name": "Ada"})
    taken_away = UpdateProfileRequest.model_validate({"name": "Ada", "bio": None})
    assert body_hash(left_out) != body_hash(taken_away)
