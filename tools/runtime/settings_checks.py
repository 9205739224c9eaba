"""Types of settings, with the checks at the start of the server; the providers in ENGRAIN_OIDC."""

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from auth.external.addresses import is_safe_to_call, is_web_address
from auth.external.provider import OidcProvider
from stores.errors import InvalidSetting

SECRET_LENGTH = 32
_MAILBOX = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+")


def _required(is_valid: Callable[[str], object], rule: str) -> AfterValidator:
    def check(text: str) -> str:
        if not is_valid(text):
            raise ValueError(rule)
        return text

    return AfterValidator(check)


def _at_home(path: Path) -> Path:
    # Shells leave the tilde of `--data-dir=~/x` alone.
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError(f"this user has no home folder, which {path} needs") from None


def _network(text: str) -> str:
    ipaddress.ip_network(text)
    return text


def _is_sender(text: str) -> bool:
    from email.utils import parseaddr  # noqa: PLC0415 - few servers send mail, and all of them start

    return text.isprintable() and _MAILBOX.fullmatch(parseaddr(text)[1]) is not None


UserPath = Annotated[Path, AfterValidator(_at_home)]
Network = Annotated[str, AfterValidator(_network)]
# Otherwise the HTTP library would quote the whole key in its error.
HeaderSecret = Annotated[
    str,
    StringConstraints(strip_whitespace=True),
    _required(re.compile(r"[!-~]+").fullmatch, "it contains a space or a non-ASCII character: copy it again"),
]
SigningSecret = Annotated[
    str,
    _required(
        lambda text: len(text.strip()) >= SECRET_LENGTH,
        f"it has fewer than {SECRET_LENGTH} characters, blanks at its ends aside: set a random one, for example from "
        "`openssl rand -hex 32`",
    ),
]
PublicAddress = Annotated[
    str,
    _required(
        lambda text: is_web_address(text) and "?" not in text,
        "it must be an http or https URL without a query, such as https://engrain.example",
    ),
]
Origin = Annotated[
    str,
    _required(
        re.compile(r"\*|[a-z][a-z0-9+.-]*://[^\s/?#@,\\]+").fullmatch,
        "an origin is a scheme, a host and maybe a port, such as https://app.example, and * is any",
    ),
]
HostHeader = Annotated[
    str,
    _required(
        re.compile(r"\*|(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(?:[0-9]{1,5}|\*))?").fullmatch,
        "a host is a name or an address, maybe with a port, such as engrain.example:8420; * is any",
    ),
]
Sender = Annotated[str, _required(_is_sender, "it must hold an e-mail address, such as Engrain <engrain@example.org>")]
MailText = Annotated[str, _required(str.isascii, "only ASCII characters can be sent to a mail server")]


OIDC_NAME = "ENGRAIN_OIDC"
EXTRA_PROVIDERS = frozenset({"google", "github"})

Word = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[\x21-\x7e]+$")]


class ProviderSetting(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    label: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    issuer: str
    client_id: Word
    client_secret_env: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=255)]
    organization_slug: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    scopes: tuple[Word, ...] = ("openid", "profile", "email")
    role_claim_override: Word | None = None
    silent_refresh_enabled: bool | None = None

    @model_validator(mode="after")
    def _agree(self) -> "ProviderSetting":
        if not is_safe_to_call(self.issuer) or "?" in self.issuer:
            raise ValueError(f"the issuer of {self.name} must be an https URL without a query")
        if "openid" not in self.scopes:
            raise ValueError(f"the scopes of {self.name} must hold openid")
        return self


class OidcSetting(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    providers: tuple[ProviderSetting, ...] = ()
    role_claim: Word = "roles"
    role_prefix: Word = "Engrain"
    redirect_uri_base: PublicAddress | Literal[""] = ""
    session_minutes: int = Field(60, ge=5, le=1440)
    silent_refresh_enabled: bool = False
    extra_providers_enabled: bool = False
    _secrets: dict[str, str] = {}

    @model_validator(mode="after")
    def _agree(self) -> "OidcSetting":
        names = [provider.name for provider in self.providers]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two providers have the name {twice[0]}")
        if not self.extra_providers_enabled and (extra := sorted(EXTRA_PROVIDERS & set(names))):
            raise ValueError(f"the provider {extra[0]} needs extra_providers_enabled")
        return self

    @property
    def secret_names(self) -> frozenset[str]:
        return frozenset(provider.client_secret_env for provider in self.providers)

    @property
    def organization_slugs(self) -> frozenset[str]:
        return frozenset(provider.organization_slug for provider in self.providers)

    def resolved(self) -> tuple[OidcProvider, ...]:
        """Return the providers with the defaults filled in; a missing secret is None."""
        return tuple(
            OidcProvider(
                name=each.name,
                label=each.label or each.name.replace("-", " ").capitalize(),
                issuer=each.issuer,
                client_id=each.client_id,
                client_secret=self._secrets.get(each.client_secret_env),
                organization_slug=each.organization_slug,
                scopes=each.scopes,
                role_claim=each.role_claim_override or self.role_claim,
                role_prefix=self.role_prefix,
                silent_refresh=(
                    self.silent_refresh_enabled if each.silent_refresh_enabled is None else each.silent_refresh_enabled
                ),
                session_minutes=self.session_minutes,
            )
            for each in self.providers
        )


def read_oidc(text: str, environ: Mapping[str, str]) -> OidcSetting:
    """Read the setting, and the secrets that it names, from the environment."""
    try:
        setting = OidcSetting.model_validate(json.loads(text))
    except ValidationError as error:
        raise InvalidSetting(f"{OIDC_NAME} is not valid: {_reason(error)}.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidSetting(f"{OIDC_NAME} is not valid: it is not JSON ({error}).") from None
    setting._secrets.update({name: environ[name] for name in setting.secret_names if environ.get(name)})
    return setting


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "value_error":
        return first["msg"].removeprefix("Value error, ")
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
