"""E-mail addresses that look like another, and names and addresses that would write letters of their own."""

from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from tests.people import PASSWORD, Person, mailed
from tests.security.harness import World
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

SIGN_UP, RESET = "/api/auth/local/signup", "/api/users/password/reset"


async def letters(world: World) -> list[EmailMessage]:
    def read() -> list[EmailMessage]:
        files = list(world.app.mailer.folder.glob("*.eml"))
        found = [message_from_bytes(file.read_bytes(), policy=policy.default) for file in files]
        for file in files:
            file.unlink()
        return found

    await mailed(world.app)
    return await in_thread(read)


async def sign_up(world: World, email: str, name: str = "E") -> int:
    answer = await world.post(SIGN_UP, {"email": email, "password": PASSWORD, "name": name})
    return answer.status_code


@pytest.mark.parametrize(
    "other",
    ["MIKES-{}@EXAMPLE.ORG", "Mikes-{}@example.org", " mikes-{}@example.org "],
    ids=["capitals", "one capital", "blanks"],
)
async def test_an_address_in_other_case_is_the_same(world: World, other: str) -> None:
    serial = world.app.new_id("n")
    mine = f"mikes-{serial}@example.org"
    assert await sign_up(world, mine) == 201
    assert await sign_up(world, other.format(serial)) == 409
    await world.post(RESET, {"email": other.format(serial)})
    assert [letter["To"] for letter in await letters(world)] == [mine], "mail goes where the account says"


@pytest.mark.parametrize(
    "other",
    ["mikes-{}+x@example.org", "mi.kes-{}@example.org", "mikes-{}@xn--exmple-4nf.org", "mikes-{}@example.org.org"],
    ids=["tag", "dot", "Cyrillic domain", "other domain"],
)
async def test_an_address_that_only_looks_alike_is_another_one(world: World, ada: Person, other: str) -> None:
    serial = world.app.new_id("n")
    mine, theirs = f"mikes-{serial}@example.org", other.format(serial)
    assert await sign_up(world, mine) == 201
    made = await world.post(SIGN_UP, {"email": theirs, "password": PASSWORD, "name": "E"})
    assert made.status_code == 201
    slug = ada.signed.identity.organization.slug
    invited = await world.post(f"/api/orgs/{slug}/invitations", {"email": mine}, ada.token)
    token = invited.json()["invitation"]["accept_url"].rsplit("/", 2)[-2]
    refused = await world.post(f"/api/invitations/{token}/accept", {}, made.json()["access_token"])
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")
    await letters(world)
    await world.post(RESET, {"email": mine})
    assert [letter["To"] for letter in await letters(world)] == [mine]


@pytest.mark.parametrize(
    "other",
    [
        "mi\u212aes-{}@example.org", "mike\u017f-{}@example.org", "m\u0131kes-{}@example.org",
        "mik\u0435s-{}@example.org", "\uff4dikes-{}@example.org", "mikes-{}@ex\u0430mple.org",
        "mikes-{}@stra\u00dfe.de", "m\u00fckes-{}@example.org",
    ],
    ids=["Kelvin sign", "long s", "dotless i", "Cyrillic e", "full width", "Cyrillic domain", "sharp s", "umlaut"],
)  # fmt: skip
async def test_an_address_with_other_letters_is_none(world: World, ada: Person, other: str) -> None:
    """Neither an account's that looks like it, nor one that mail could be sent to by every server."""
    serial = world.app.new_id("n")
    for mine in (f"mikes-{serial}@example.org", f"mikes-{serial}@strasse.de"):
        assert await sign_up(world, mine) == 201
    theirs = other.format(serial)
    slug = ada.signed.identity.organization.slug
    offered = {"email": theirs, "password": PASSWORD, "name": "E"}
    for path, token in ((SIGN_UP, ""), (f"/api/orgs/{slug}/invitations", ada.token)):
        refused = await world.post(path, offered, token)
        assert (refused.status_code, refused.json()["details"]["field"]) == (422, "body.email")
    await letters(world)
    assert (await world.post(RESET, {"email": theirs})).status_code == 202
    assert await letters(world) == []


NO_ADDRESSES = (
    "a@example.org\r\nBcc: eve@example.org", "a@example.org\nBcc: eve@example.org",
    "a@example.org\rBcc:eve@example.org", "a\r\nBcc:eve@example.org", "a@example.org,eve@example.org",
    "a@example.org;eve@example.org", "a@example.org%0aBcc:eve@example.org", "<a@example.org>,<eve@example.org>",
    "A <a@example.org>", "a@example.org\u2028Bcc:eve@example.org", "a@example.org\x00", "a@example.org\x0bx",
    "a b@example.org", "@example.org", "a@", "a@@example.org",
    # No letter can be written to these.
    "a,b@example.org", "a>b@example.org", "x<y@c.d", "a;b@x.org", '"a"@example.org', "a@[127.0.0.1]", "a\x01@b.cc",
    "=?utf-8?q?a?=@b.cc", ".a@b.cc", "a..b@b.cc", "a@-b.cc", "a@b..cc",
)  # fmt: skip


@pytest.mark.parametrize("email", NO_ADDRESSES)
async def test_what_is_not_one_address_that_a_letter_can_be_written_to_is_none(
    world: World, ada: Person, email: str
) -> None:
    await letters(world)
    slug = ada.signed.identity.organization.slug
    assert await sign_up(world, email) == 422
    invited = await world.post(f"/api/orgs/{slug}/invitations", {"email": email}, ada.token)
    assert invited.status_code == 422
    assert (await world.post(RESET, {"email": email})).status_code in (202, 422)
    assert await letters(world) == []


@pytest.mark.parametrize("name", ["x\r\nBcc: eve@example.org", "x\n\nYour account is blocked: https://evil.example/"])
async def test_a_name_writes_neither_headers_nor_the_letter(world: World, ada: Person, name: str) -> None:
    """Anybody can sign up with the address of somebody else, and have a letter sent there."""
    await letters(world)
    email = f"{world.app.new_id('victim')}@example.org"
    assert await sign_up(world, email, name) == 201
    await world.post(RESET, {"email": email})
    made = (await world.post("/api/orgs", {"name": name}, ada.token)).json()
    await world.send("PATCH", "/api/auth/me", {"name": name}, made["access_token"])
    invited = f"/api/orgs/{made['organization']['slug']}/invitations"
    assert (await world.post(invited, {"email": email}, made["access_token"])).status_code == 200
    found = await letters(world)
    assert found
    for letter in found:
        assert set(letter.keys()) <= {
            "From", "To", "Subject", "Date", "Auto-Submitted", "Message-ID", "MIME-Version", "Content-Type",
            "Content-Transfer-Encoding",
        }  # fmt: skip
        text = letter.get_content()
        assert [line for line in text.splitlines() if line.startswith(("Bcc", "Your account"))] == []
        assert "https://evil" not in text
