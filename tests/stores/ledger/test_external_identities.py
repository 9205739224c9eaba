from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from stores.errors import Conflict, NotFound, ValidationFailed
from stores.ledger import Ledger
from stores.ledger.external_identities import CODEHOST
from stores.records import ApiKey, ExternalIdentity
from tests.stores.ledger.samples import ANN, BOB, DAYS_30, ORG, SteppingClock, actions, deed, session


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


def test_a_link_is_undone_by_its_user_only(ledger: Ledger, link: ExternalIdentity) -> None:
    ledger.people.link_user(link)
    with pytest.raises(NotFound):
        ledger.people.unlink_user(ANN, link.provider, link.subject)
    ledger.people.unlink_user(BOB, link.provider, link.subject, deed("user.unlink", None))
    assert ledger.people.links(BOB) == []
    assert actions(ledger, None) == ["user.unlink"]
    with pytest.raises(NotFound):
        ledger.people.unlink_user(BOB, link.provider, link.subject)


def test_reclaiming_an_address_that_was_never_proved_ends_what_its_user_had(
    ledger: Ledger, link: ExternalIdentity, clock: SteppingClock
) -> None:
    ledger.people.create_session(session("squatter", BOB))
    ledger.people.create_password_reset(BOB, "mailed", clock.now + DAYS_30)
    ledger.people.link_user(replace(link, subject="squatters"))
    ledger.people.link_user(replace(link, provider=CODEHOST, subject="7"))
    ledger.api_keys.create(ApiKey("k1", ORG, BOB, "k", "sk_1", (), (), (), True, clock.now), "hash")

    bob = ledger.people.link_user(link, vouched=True)

    assert bob.password_hash is None
    assert bob.email_verified_at == clock.now
    assert ledger.people.sessions(BOB) == []
    assert ledger.people.password_reset_user("mailed") is None
    assert ledger.people.links(BOB) == [link]
    assert bob.codehost_id is None
    assert [each.revoked_at for each in ledger.api_keys.of_organization(ORG)] == [bob.email_verified_at]


def test_an_address_is_reclaimed_only_while_the_account_has_it(ledger: Ledger, link: ExternalIdentity) -> None:
    with pytest.raises(Conflict, match="another e-mail address"):
        ledger.people.link_user(replace(link, email="somebody@example.org"), vouched=True)
    assert ledger.people.links(BOB) == []


def test_a_link_to_the_code_host_is_the_users_number_there(ledger: Ledger, link: ExternalIdentity) -> None:
    first = replace(link, provider=CODEHOST, subject="4711")
    assert ledger.people.link_user(first).codehost_id == 4711
    assert ledger.people.user_by_link(CODEHOST, "4711") == ledger.people.user(BOB)
    with pytest.raises(Conflict, match="another account of the code host"):
        ledger.people.link_user(replace(first, subject="4712"))
    assert ledger.people.links(BOB) == [first]


def test_reclaiming_an_address_that_was_proved_changes_nothing(
    ledger: Ledger, link: ExternalIdentity, clock: SteppingClock
) -> None:
    proved_at = clock()
    before = ledger.people.edit_user(BOB, lambda user: replace(user, email_verified_at=proved_at))
    ledger.people.create_session(session("s1", BOB))
    assert ledger.people.link_user(link, vouched=True) == before
    assert [each.id for each in ledger.people.sessions(BOB)] == ["s1"]


def test_of_many_links_of_one_account_one_succeeds(ledger: Ledger, second: Ledger, link: ExternalIdentity) -> None:
    def try_to(number: int) -> bool:
        try:
            (ledger, second)[number % 2].people.link_user(replace(link, user_id=(ANN, BOB)[number % 2]))
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(try_to, range(6))) == 1
