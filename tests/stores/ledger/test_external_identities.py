from dataclasses import replace

import pytest

from stores.errors import Conflict, NotFound, ValidationFailed
from stores.ledger import Ledger
from stores.records import ExternalIdentity
from tests.stores.ledger.samples import ANN, BOB, SteppingClock, actions, deed, winners


@pytest.fixture
def link(clock: SteppingClock) -> ExternalIdentity:
    return ExternalIdentity("oidc:acme", "https://acme.example#sub-1", BOB, f"{BOB}@Example.org", clock.now)


def test_an_account_at_a_provider_stands_for_one_user(ledger: Ledger, link: ExternalIdentity) -> None:
    assert ledger.people.user_by_link(link.provider, link.subject) is None
    bob = ledger.people.link_user(link, audit=deed("user.link", None))
    assert bob == ledger.people.user(BOB) == ledger.people.user_by_link(link.provider, link.subject)
    assert ledger.people.user_by_link("oidc:other", link.subject) is None
    assert ledger.people.links(BOB) == [link]
    with pytest.raises(Conflict, match="linked"):
        ledger.people.link_user(replace(link, user_id=ANN), audit=deed("user.link", None))
    assert actions(ledger, None) == ["user.link"]


def test_a_link_needs_a_user_and_a_subject(ledger: Ledger, link: ExternalIdentity) -> None:
    with pytest.raises(NotFound):
        ledger.people.link_user(replace(link, user_id="nobody"))
    with pytest.raises(ValidationFailed):
        ledger.people.link_user(replace(link, subject=""))


def test_an_address_is_reclaimed_only_while_the_account_has_it(ledger: Ledger, link: ExternalIdentity) -> None:
    with pytest.raises(Conflict, match="another e-mail address"):
        ledger.people.link_user(replace(link, email="somebody@example.org"), vouched=True)
    assert ledger.people.links(BOB) == []


def test_of_many_links_of_one_account_one_succeeds(ledger: Ledger, second: Ledger, link: ExternalIdentity) -> None:
    def try_to(number: int) -> None:
        (ledger, second)[number % 2].people.link_user(replace(link, user_id=(ANN, BOB)[number % 2]))

    assert winners(try_to, Conflict) == 1
