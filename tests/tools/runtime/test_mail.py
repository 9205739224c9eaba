"""Mail leaves over a way that is encrypted and checked, or not at all."""

import socket
from collections.abc import Callable
from dataclasses import replace
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from auth.accounts import checked_email
from stores.clock import utc_now
from stores.errors import InvalidSetting, ValidationFailed
from tests.mail_server import MailServer, make_certificate
from tools.runtime.mail import Delivery, Letter, Mailer
from tools.runtime.settings import Settings, read_settings

LETTER = Letter("grace@example.org", "Grüße", "The token is opensesame.\n.\nThat was a dot.\n")
ACCOUNT = ("engrain", "pass word")
ODD = st.text("=?.-_+'x9<>,\"é\x01 ", min_size=1, max_size=70)


def send(folder: Path, port: int, **settings: Any) -> Delivery:
    values: dict[str, Any] = {"smtp_host": "127.0.0.1", "smtp_port": port, "smtp_from": "Us <us@example.org>"}
    mailer = Mailer(Settings(data_dir=folder, **values | settings), utc_now)
    try:
        return mailer.send(LETTER)
    finally:
        mailer.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return make_certificate(tmp_path / "server.pem", "127.0.0.1", "localhost")


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_mail_is_sent_encrypted_to_a_trusted_server_after_login(
    tmp_path: Path, certificate: Path, security: str
) -> None:
    with MailServer(certificate, security == "tls", ACCOUNT).running() as server:
        login = {"smtp_username": ACCOUNT[0], "smtp_password": ACCOUNT[1]}
        sent = send(tmp_path, server.port, smtp_security=security, smtp_ca_file=certificate, **login)
    assert sent == "sent"
    (taken,) = server.taken
    assert (taken.sender, taken.recipients) == ("us@example.org", ("grace@example.org",))
    assert (taken.encrypted, taken.user) == (True, "engrain")
    assert taken.message["Subject"] == "Grüße"
    assert taken.message.get_content().replace("\r\n", "\n") == LETTER.text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.one_of(st.emails(), st.builds("{}@{}".format, ODD, ODD)))
@example("o'neil+x@b.cc")
@example("!#$%&'*+/=?^_`{|}~-@b")
@example("=?utf-8?q?a?=@b.cc")
@example(f"{'a' * 64}@{'b' * 61}.{'c' * 61}.{'d' * 61}")
def test_every_address_that_is_accepted_can_be_written_to(tmp_path: Path, address: str) -> None:
    try:
        accepted = checked_email(address)
    except ValidationFailed:
        return
    mailer = Mailer(Settings(data_dir=tmp_path), utc_now)
    try:
        assert mailer.send(replace(LETTER, to=accepted)) == "kept"
    finally:
        mailer.close()
    (path,) = mailer.folder.glob("*.eml")
    kept = message_from_bytes(path.read_bytes(), policy=policy.default)
    path.unlink()
    assert [each.addr_spec for each in kept["To"].addresses] == [accepted]


def strange(folder: Path) -> Path:
    return make_certificate(folder / "other.pem", "127.0.0.1")


def misnamed(folder: Path) -> Path:
    return make_certificate(folder / "server.pem", "mail.example.org")


@pytest.mark.parametrize("security", ["starttls", "tls"])
@pytest.mark.parametrize("make", [strange, misnamed])
def test_wrong_certificates_end_delivery(
    tmp_path: Path, certificate: Path, make: Callable[[Path], Path], security: str
) -> None:
    with MailServer(make(tmp_path), security == "tls", ACCOUNT).running() as server, capture_logs() as logs:
        login = {"smtp_username": ACCOUNT[0], "smtp_password": ACCOUNT[1]}
        sent = send(tmp_path, server.port, smtp_security=security, smtp_ca_file=certificate, **login)
    assert sent == "failed"
    assert not server.taken
    assert {line.partition(" ")[0].upper() for line in server.heard} <= {"EHLO", "STARTTLS"}
    assert [entry["error"] for entry in logs if entry["event"] == "mail_failed"] == [
        "The mail could not be delivered: SSLCertVerificationError."
    ]


def test_the_certificates_of_the_system_vouch_without_a_setting(tmp_path: Path, certificate: Path) -> None:
    with MailServer(certificate).running() as server:
        assert send(tmp_path, server.port) == "failed"
    assert not server.taken


def test_a_letter_does_not_go_in_clear_where_encryption_is_wanted(tmp_path: Path) -> None:
    with MailServer().running() as server:
        assert send(tmp_path, server.port) == "failed"
        assert not server.taken
        assert send(tmp_path, server.port, smtp_security="none") == "sent"
    assert [taken.encrypted for taken in server.taken] == [False]


@pytest.mark.parametrize("password", [None, "wrong"])
def test_a_refused_login_sends_nothing_and_logs_no_secret(
    tmp_path: Path, certificate: Path, password: str | None
) -> None:
    login = {} if password is None else {"smtp_username": "engrain", "smtp_password": password}
    with MailServer(certificate, credentials=ACCOUNT).running() as server, capture_logs() as logs:
        assert send(tmp_path, server.port, smtp_ca_file=certificate, **login) == "failed"
    assert not server.taken
    assert [entry["event"] for entry in logs] == ["mail_failed"]
    assert "opensesame" not in str(logs)
    assert "wrong" not in str(logs)


def test_nobody_waits_for_a_server_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.runtime.mail.PATIENCE_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = Settings(data_dir=tmp_path, smtp_host="127.0.0.1", smtp_port=silent.getsockname()[1])
        mailer = Mailer(settings, utc_now)
        assert mailer.send(LETTER) == "queued"
        connection, _ = silent.accept()
        connection.close()
    mailer.close()


def test_without_a_server_a_letter_is_kept(tmp_path: Path) -> None:
    mailer = Mailer(Settings(data_dir=tmp_path), utc_now)
    assert mailer.send(LETTER) == "kept"
    assert mailer.send(Letter("grace@example.org", "two\nlines", "x")) == "failed"
    mailer.close()
    assert len(list(mailer.folder.glob("*.eml"))) == 1


def test_a_password_that_cannot_be_sent_stops_the_start_without_being_shown() -> None:
    with pytest.raises(InvalidSetting, match=r"ENGRAIN_SMTP_PASSWORD is not valid: .*ASCII") as refused:
        read_settings({"ENGRAIN_SMTP_PASSWORD": "pässword"})
    assert "pässword" not in str(refused.value)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_without_certificates_stops_the_start(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InvalidSetting, match=r"ENGRAIN_SMTP_CA_FILE.*no certificates"):
        read_settings({"ENGRAIN_SMTP_CA_FILE": str(path)})
