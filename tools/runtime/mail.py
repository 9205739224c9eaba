"""Mail to users: by SMTP, or as files in the data folder without a mail server."""

import secrets
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Literal

import structlog

from stores.errors import BadGateway
from stores.folder import replace_file
from tools.runtime.settings import Settings

TIMEOUT_S = 30.0
PATIENCE_S = 10.0
"""Seconds that a request waits for the delivery."""

Delivery = Literal["sent", "kept", "queued", "failed"]

log = structlog.get_logger("mail")


@dataclass(frozen=True, slots=True)
class Letter:
    to: str
    subject: str
    text: str


class Mailer:
    def __init__(self, settings: Settings, clock: Callable[[], datetime]) -> None:
        self._settings = settings
        self._clock = clock
        self._worker = ThreadPoolExecutor(1, "mail")

    @property
    def folder(self) -> Path:
        return self._settings.data_dir / "mail"

    def post(self, work: Callable[[], Delivery | None]) -> "Future[Delivery | None]":
        """Do something in the background; failures are logged."""
        posted = self._worker.submit(work)
        posted.add_done_callback(_log_failure)
        return posted

    def send(self, letter: Letter) -> Delivery:
        """Send a letter; return its state after `PATIENCE_S` at the latest. Blocks."""
        posted = self.post(lambda: self.deliver(letter))
        if posted in wait((posted,), PATIENCE_S).not_done:
            return "queued"
        return "failed" if posted.exception() is not None else posted.result() or "failed"

    def wait(self) -> None:
        self._worker.submit(bool).result()

    def close(self) -> None:
        self._worker.shutdown()

    def deliver(self, letter: Letter) -> Delivery:
        """Send a letter now. Blocks; BadGateway if that fails."""
        try:
            message = self._message(letter)
            if self._settings.smtp_host is None:
                self._keep(message)
                return "kept"
            self._deliver(self._settings.smtp_host, message, letter.to)
        except Exception as error:  # noqa: BLE001 - any fault of a mail server
            # No cause: it may show a token of the letter.
            raise BadGateway(f"The mail could not be delivered: {type(error).__name__}.") from None
        return "sent"

    def _message(self, letter: Letter) -> EmailMessage:
        message = EmailMessage()
        message["From"] = self._settings.smtp_from
        message["To"] = Address(addr_spec=letter.to)
        message["Subject"] = letter.subject
        message["Date"] = self._clock()
        message["Auto-Submitted"] = "auto-generated"
        # 7bit if possible: readable in a file, and long URLs stay in one piece.
        message.set_content(letter.text, cte="7bit" if letter.text.isascii() else None)
        return message

    def _keep(self, message: EmailMessage) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        path = self.folder / f"{self._clock():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}.eml"
        replace_file(path, message.as_bytes())
        log.info("mail_kept", path=path.name)

    def _deliver(self, host: str, message: EmailMessage, to: str) -> None:
        import smtplib  # noqa: PLC0415 - few servers send mail, and all of them start
        import ssl  # noqa: PLC0415 - as above

        settings = self._settings
        trusted = ssl.create_default_context(cafile=settings.smtp_ca_file)
        if settings.smtp_security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(host, settings.smtp_port, timeout=TIMEOUT_S, context=trusted)
        else:
            server = smtplib.SMTP(host, settings.smtp_port, timeout=TIMEOUT_S)
        with server:
            if settings.smtp_security == "starttls":
                server.starttls(context=trusted)
            if settings.smtp_username is not None:
                server.login(settings.smtp_username, settings.smtp_password or "")
            server.send_message(message, to_addrs=[to])


def _log_failure(done: "Future[Delivery | None]") -> None:
    if (error := done.exception()) is not None:
        log.error("mail_failed", error=str(error) if isinstance(error, BadGateway) else type(error).__name__)
