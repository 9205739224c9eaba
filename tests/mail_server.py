"""A mail server for tests: SMTP (RFC 5321) with STARTTLS (RFC 3207), AUTH PLAIN (RFC 4954), and its certificates."""

import base64
import contextlib
import ipaddress
import socketserver
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass(frozen=True)
class Taken:
    sender: str
    recipients: tuple[str, ...]
    message: EmailMessage
    encrypted: bool
    user: str | None


@dataclass
class MailServer:
    certificate: Path | None = None
    """PEM of certificate and key; without one there is no STARTTLS."""
    encrypted_from_the_start: bool = False
    credentials: tuple[str, str] | None = None
    """Name and password without which nothing is taken."""
    port: int = 0
    taken: list[Taken] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    """Every command, as it came."""

    def context(self) -> ssl.SSLContext:
        assert self.certificate is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        return context

    @contextlib.contextmanager
    def running(self) -> Iterator["MailServer"]:
        with _Listener(("127.0.0.1", 0), _Conversation) as listener:
            listener.mail = self
            self.port = listener.server_address[1]
            thread = threading.Thread(target=listener.serve_forever)
            thread.start()
            try:
                yield self
            finally:
                listener.shutdown()
                thread.join()


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    mail: MailServer


class _Conversation(socketserver.StreamRequestHandler):
    timeout = 10
    server: _Listener

    def handle(self) -> None:
        self.encrypted, self.user = False, None
        self.forget()
        # A client that does not trust the certificate leaves in the middle of the handshake.
        with contextlib.suppress(OSError):
            if self.server.mail.encrypted_from_the_start:
                self.encrypt()
            self.say("220 ready")
            while line := self.rfile.readline().decode().rstrip("\r\n"):
                self.server.mail.heard.append(line)
                verb, _, rest = line.partition(" ")
                answer = getattr(self, f"do_{verb.lower()}", None)
                self.say("502 what?" if answer is None else answer(rest))
                if verb.upper() == "QUIT":
                    return
                if verb.upper() == "STARTTLS":
                    self.encrypt()

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def forget(self) -> None:
        self.sender, self.recipients = "", list[str]()

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def encrypt(self) -> None:
        self.connection = self.server.mail.context().wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)
        self.encrypted = True

    def do_ehlo(self, _: str) -> str:
        offers = ["mail.test"]
        if self.server.mail.certificate is not None and not self.encrypted:
            offers.append("STARTTLS")
        if self.server.mail.credentials is not None:
            offers.append("AUTH PLAIN")
        return "\r\n".join([*(f"250-{offer}" for offer in offers), "250 SIZE 1000000"])

    def do_starttls(self, _: str) -> str:
        return "220 go on"

    def do_auth(self, rest: str) -> str:
        _, user, password = base64.b64decode(rest.removeprefix("PLAIN ")).decode().split("\0")
        if (user, password) != self.server.mail.credentials:
            return "535 no"
        self.user = user
        return "235 welcome"

    def do_mail(self, rest: str) -> str:
        if self.server.mail.credentials is not None and self.user is None:
            return "530 log in first"
        self.forget()
        self.sender = rest.partition("<")[2].partition(">")[0]
        return "250 fine"

    def do_rcpt(self, rest: str) -> str:
        self.recipients.append(rest.partition("<")[2].partition(">")[0])
        return "250 fine"

    def do_data(self, _: str) -> str:
        self.say("354 go on")
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        message = message_from_bytes(b"".join(lines), policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.server.mail.taken.append(Taken(self.sender, tuple(self.recipients), message, self.encrypted, self.user))
        return "250 taken"

    def do_rset(self, _: str) -> str:
        self.forget()
        return "250 fine"

    def do_quit(self, _: str) -> str:
        return "221 bye"


def make_certificate(path: Path, *names: str) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)  # noqa: FBT003, RUF100
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([_general(each) for each in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + pem)
    return path


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
