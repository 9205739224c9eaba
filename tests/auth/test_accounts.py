"""Signing up, signing in and refreshing."""

from typing import Any

import pytest

from auth.accounts import SignedIn
from stores.ledger.ledger import People
from tests.people import PASSWORD, person
from tools.app import App

pytestmark = pytest.mark.anyio


async def test_a_sign_in_says_who_it_is_without_asking_the_ledger_again(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await person(app, "ada")
    identity, asked = People.identity, []

    def counting(ledger: People, *which: Any) -> Any:
        asked.append(which)
        return identity(ledger, *which)

    monkeypatch.setattr(People, "identity", counting)
    signed = app.accounts.start(app.accounts.check(ada.email, PASSWORD))
    assert asked == []
    assert signed.identity == known(app, signed)
    refreshed = app.accounts.refresh(signed.refresh_token)
    assert refreshed.identity == known(app, refreshed), "rotated in the ledger, and read from there"
    assert ada.signed.identity == known(app, ada.signed)


def known(app: App, signed: SignedIn) -> Any:
    """What the ledger knows of whoever signed in."""
    session = signed.identity.session
    assert session is not None
    return app.ledger.people.identity(session.user_id, session.organization_id, session.id)
