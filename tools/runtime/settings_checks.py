"""Types of settings, with the checks at the start of the server."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from auth.external.addresses import is_web_address

SECRET_LENGTH = 32
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@,\\]+")
_HOST = re.compile(r"\*|(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(?:[0-9]{1,5}|\*))?")
_MAILBOX = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+")


def _secret(text: str) -> str:
    if len(text.strip()) < SECRET_LENGTH:
        raise ValueError(
            f"it has fewer than {SECRET_LENGTH} characters, blanks at its ends aside:"
            " set a random one, for example from `openssl rand -hex 32`"
        )
    return text


def _public_address(text: str) -> str:
    if not is_web_address(text) or "?" in text:
        raise ValueError("it must be an http or https URL without a query, such as https://engrain.example")
    return text


def _at_home(path: Path) -> Path:
    # Shells leave the tilde of `--data-dir=~/x` alone.
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError(f"there is no home folder for {path}") from None


def _origin(text: str) -> str:
    if text != "*" and not _ORIGIN.fullmatch(text):
        raise ValueError("an origin is a scheme, a host and maybe a port, such as https://app.example, and * is any")
    return text


def _host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError("a host is a name or an address, maybe with a port, such as engrain.example:8420; * is any")
    return text


def _sender(text: str) -> str:
    from email.utils import parseaddr  # noqa: PLC0415 - few servers send mail, and all of them start

    if not _MAILBOX.fullmatch(parseaddr(text)[1]) or not text.isprintable():
        raise ValueError("it must hold an e-mail address, such as Engrain <engrain@example.org>")
    return text


def _model_address(text: str) -> str:
    # Credentials or a query would be logged with the URL.
    if not is_web_address(text) or "?" in text or "@" in text or "#" in text:
        raise ValueError("it must be an http or https URL of scheme, host, port and path alone")
    return text


def _header_secret(text: str) -> str:
    # Otherwise the HTTP library would quote the whole key in its error.
    if not text.strip() or not (text.isascii() and text.isprintable()) or " " in text.strip():
        raise ValueError("it holds a character that no key has: copy it again")
    return text.strip()


ModelAddress = Annotated[str, AfterValidator(_model_address)]
HeaderSecret = Annotated[str, AfterValidator(_header_secret)]
SigningSecret = Annotated[str, AfterValidator(_secret)]
UserPath = Annotated[Path, AfterValidator(_at_home)]
PublicAddress = Annotated[str, AfterValidator(_public_address)]
Origin = Annotated[str, AfterValidator(_origin)]
HostHeader = Annotated[str, AfterValidator(_host)]
Sender = Annotated[str, AfterValidator(_sender)]
