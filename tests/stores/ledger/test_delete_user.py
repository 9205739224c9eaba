import pytest

from stores.errors import Conflict, NotFound
from stores.ledger import Ledger
from stores.records import ExternalIdentity
from tests.ledgers import user_count
from tests.stores.ledger.samples import (
    ANN,
    BOB,
    ORG,
    OTHER,
    SteppingClock,
    actions,
    api_key,
    create,
    deed,
    draft,
    organization,
    person,
    session,
    winners,
)


def test_a_user_goes_with_the_personal_organization_and_leaves_what_others_share(
    ledger: Ledger, clock: SteppingClock
) -> None:
    ledger.people.create_organization(organization("shared", is_personal=False), ANN)
    ledger.people.add_membership(BOB, "shared", "member")
    with ledger.transaction("shared", BOB) as tx:
        tx.records.create_entity(draft("bobs"))
    create(ledger, draft("gone"), organization_id=OTHER)
    ledger.people.create_session(session("s1", BOB, "shared"))
    ledger.people.link_user(ExternalIdentity("oidc:acme", "sub", BOB, None, clock.now))
    ledger.api_keys.create(api_key("k1", BOB, "shared"), "hash")

    assert ledger.people.delete_user(BOB, deed("user.delete", None, actor_id=BOB)) == [OTHER]

    assert ledger.people.user(BOB) is ledger.people.session("s1") is ledger.people.organization(OTHER) is None
    assert ledger.people.user_by_link("oidc:acme", "sub") is ledger.api_keys.find("sk_k1") is None
    assert ledger.records.revisions(OTHER) == {}
    assert [each.user.id for each in ledger.people.members("shared")] == [ANN]
    kept = ledger.records.entity("shared", "bobs")
    assert kept.principal_id == BOB
    assert actions(ledger, None) == ["user.delete"]
    ledger.people.create_account(person(BOB), organization(OTHER))


def test_a_personal_organization_does_not_go_with_an_owner_who_joined_it(ledger: Ledger) -> None:
    ledger.people.add_membership(BOB, ORG, "owner")
    assert ledger.people.delete_user(BOB) == [OTHER]
    assert ledger.people.identity(ANN, ORG, None) is not None


def test_the_last_admin_goes_only_as_the_last_user(ledger: Ledger) -> None:
    with pytest.raises(Conflict, match="last admin"):
        ledger.people.delete_user(ANN)
    ledger.people.delete_user(BOB)
    ledger.people.delete_user(ANN)
    assert user_count(ledger) == 0
    assert ledger.people.create_account(person("u3"), organization("o3")).is_admin
    with pytest.raises(NotFound):
        ledger.people.delete_user(ANN)


def test_of_owners_who_delete_themselves_at_once_one_stays(ledger: Ledger, second: Ledger) -> None:
    for number in range(3):
        ledger.people.create_account(person(f"u{number}"), organization(f"o{number}"))
    ledger.people.create_organization(organization("shared", is_personal=False), "u0")
    for number in (1, 2):
        ledger.people.add_membership(f"u{number}", "shared", "owner")
    ledger.people.add_membership(ANN, "shared", "viewer")

    def go(number: int) -> None:
        (ledger, second)[number % 2].people.delete_user(f"u{number}")

    assert winners(go, Conflict, 3) == 2
    assert [each.role for each in ledger.people.members("shared")].count("owner") == 1


def test_nothing_is_signed_in_for_a_user_who_is_gone(ledger: Ledger, clock: SteppingClock) -> None:
    ledger.people.delete_user(BOB)
    with pytest.raises(NotFound):
        ledger.people.create_session(session("late", BOB, ORG))
    with pytest.raises(NotFound):
        ledger.people.link_user(ExternalIdentity("oidc:acme", "sub", BOB, None, clock.now))
    for key in (api_key("k1", BOB), api_key("k1", ANN, OTHER)):
        with pytest.raises(NotFound):
            ledger.api_keys.create(key, "hash")
    assert not ledger.people.create_password_reset(BOB, "token", clock.now)
