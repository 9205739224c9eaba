"""Settings of the server, read from the environment variables `ENGRAIN_*`."""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, get_origin

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, field_validator, model_validator

from auth.external.addresses import is_safe_to_call, is_this_machine
from stores.errors import InvalidSetting
from stores.processor import processors
from tools.runtime.client_settings import DESCRIPTIONS as CLIENT_SETTINGS
from tools.runtime.client_settings import PREFIX
from tools.runtime.settings_checks import (
    OIDC_NAME,
    HeaderSecret,
    HostHeader,
    MailText,
    Network,
    OidcSetting,
    Origin,
    PublicAddress,
    Sender,
    SigningSecret,
    UserPath,
    read_oidc,
)

__all__ = ["PREFIX", "SET", "Settings", "read_settings", "unknown_settings", "without_secrets"]

READ_AT_ONCE = 4
"""Default of parallel texts; each takes some 15 MB."""
SET = "(set)"
_PASSWORD = re.compile(r"(?<=://)[^@]*:.*@", re.DOTALL)
# User and password in front of the host.
_PARAMETER = re.compile(r"(?<=[?&])([^=&#]*)=[^&#]+")
# Query parameters: libraries read passwords and keys from there, too.


class Settings(BaseModel):
    """All settings; the field `data_dir` is read from `ENGRAIN_DATA_DIR`, and so on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_dir: UserPath = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("engrain", appauthor=False)),
        description="Folder for all data.",
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8420, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    base_url: PublicAddress | None = Field(None, description="Public URL, if it differs from host and port.")
    environment: Literal["development", "production"] = Field(
        "development", description="`production` sets Secure cookies and requires a token for /metrics."
    )
    database_url: str | None = Field(
        None, description="PostgreSQL URL of the ledger, `postgresql+psycopg://…`; SQLite in the data folder if unset."
    )
    local_owner: bool = Field(
        False,
        description="Keep an API key of the first admin in the data folder, for commands of this user without a login; "
        "an owner is made if there is no account. `engrain up` sets it.",
    )
    idle_exit_s: int = Field(0, ge=0, description="Seconds without a connection after which the server ends; 0 never.")
    jobs: Literal["inside", "none"] = Field(
        "inside", description="Run background jobs in the server, or `none` where `engrain worker` does."
    )
    secrets: Literal["warn", "redact", "refuse"] = Field(
        "warn",
        description="Treatment of writes that seem to hold a credential: `warn` in the answer, `redact` it, or "
        "`refuse` the write.",
    )
    graph_engine: Literal["ladybug", "kuzu"] = Field("ladybug", description="Engine of the graph index.")
    open_organizations: int = Field(32, ge=1, le=4096, description="Organizations whose indexes stay open.")
    vector_memory_mb: int = Field(512, ge=16, description="Memory for exact vector search in all organizations, in MB.")
    graph_memory_mb: int = Field(128, ge=0, description="Memory for graph traversal in all organizations, in MB.")

    embedding_provider: Literal["builtin", "openai", "ollama", "none"] = Field(
        "builtin", description="Source of embeddings: the model in the package, a remote endpoint, or none."
    )
    embedding_model: str | None = Field(None, description="Name of the remote model.")
    embedding_base_url: str | None = Field(None, description="URL of the remote endpoint.")
    embedding_api_key: str | None = Field(None, description="API key of the remote endpoint.", repr=False)
    embedding_dimension: int | None = Field(
        None, ge=1, le=8192, description="Dimension of the embeddings; asked of the endpoint if unset."
    )
    late_interaction: bool = Field(True, description="Compare the best candidates with the question token by token.")
    embedding_threads: int = Field(
        0,
        ge=0,
        le=64,
        description="Texts that the built-in models read in parallel for the indexes; one in the five seconds "
        "after a search. At most one per CPU; 0 for up to four.",
    )
    embedding_timeout_s: float = Field(30, gt=0, le=600, description="Timeout of a remote call, in seconds.")
    embedding_question_timeout_s: float = Field(
        3,
        gt=0,
        le=600,
        description="Timeout of a remote call in a search, in seconds; then the search uses words alone.",
    )

    embedding_requests: int = Field(
        4,
        ge=1,
        le=64,
        description="Requests that a remote endpoint gets at a time for the indexes, of up to 128 texts each; fewer "
        "while they take it longer than a second.",
    )

    public_scope: bool = Field(False, description="Accept the memory scope `public`: all of the organization reads it.")
    share_across_organizations: bool = Field(
        False, description="Let people share raw memories with other organizations that they belong to."
    )
    usage_signal: bool = Field(True, description="Rank cited records slightly higher.")
    exposure_days: int = Field(
        90, ge=0, le=3650, description="Days to keep which records a search showed to whom; 0 records nothing."
    )

    llm_provider: Literal["none", "openai", "anthropic", "google", "ollama"] = Field(
        "none",
        description="Provider of the language model that reads notes for reflection; `openai` with a base URL is any "
        "server with its API. Needs the extra `llm`.",
    )
    llm_model: str | None = Field(None, description="Name of the language model.")
    llm_base_url: PublicAddress | None = Field(None, description="URL of the model's server, if not the provider's.")
    llm_api_key: HeaderSecret | None = Field(None, description="API key of the language model.", repr=False)
    llm_timeout_s: float = Field(
        30, gt=0, le=600, description="Timeout of the language model, in seconds; then reflection uses its rules."
    )

    jwt_secret: SigningSecret | None = Field(
        None,
        description="Secret that signs tokens, at least 32 characters. Generated if unset, on loopback only.",
        repr=False,
    )
    jwt_algorithm: Literal["HS256", "HS384", "HS512"] = Field("HS256", description="Signature algorithm of tokens.")
    access_token_expire_minutes: int = Field(60, ge=1, le=1440, description="Lifetime of access tokens, in minutes.")
    refresh_token_expire_days: int = Field(30, ge=1, le=365, description="Days that sessions and refresh tokens last.")
    mcp_auth_mode: Literal["auto", "on", "off"] = Field(
        "auto", description="`off` serves /mcp without tokens, as the first admin: for development, on loopback only."
    )
    signup_enabled: bool = Field(True, description="Allow anyone to sign up.")
    local_auth_enabled: bool = Field(True, description="Allow sign-in by e-mail and password.")
    frontend_url: PublicAddress | None = Field(
        None, description="URL of the frontend, to which browsers return after an external sign-in."
    )
    codehost_client_id: str | None = Field(None, description="Client id of this server at the code host for sign-in.")
    codehost_client_secret: str | None = Field(None, description="This server's secret at the code host.", repr=False)
    codehost_authorize_url: str | None = Field(None, description="Authorization page of the code host.")
    codehost_token_url: str | None = Field(None, description="Token endpoint of the code host.")
    codehost_api_url: str | None = Field(None, description="URL of the code host's API with `/user`, `/user/emails`.")
    oidc: Annotated[OidcSetting, WithJsonSchema({"type": "string"})] | None = Field(
        None, description="OpenID Connect providers as JSON: see [Signing in by a provider](../guide/sign-in.md)."
    )

    crawl_networks: tuple[Network, ...] = Field(
        (),
        description="Addresses or networks that crawls may reach although they are not public, such as those of an "
        "intranet, comma-separated.",
    )

    smtp_host: str | None = Field(None, description="Mail server. If unset, mail goes to `mail` in the data folder.")
    smtp_port: int = Field(587, ge=1, le=65535, description="Port of the mail server.")
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        "starttls",
        description="Encryption of the connection to the mail server; `none` is for a server on this machine.",
    )
    smtp_username: MailText | None = Field(None, description="User name at the mail server, if it needs one.")
    smtp_password: MailText | None = Field(None, description="Password at the mail server.", repr=False)
    smtp_ca_file: UserPath | None = Field(None, description="Mail server's CA certificates (PEM), not the system's.")
    smtp_from: Sender = Field("Engrain <engrain@localhost>", description="Sender of mail.")

    rate_limit_enabled: bool = Field(True, description="Limit the rate of sign-in requests.")
    cors_origins: tuple[Origin, ...] = Field((), description="Origins from which browsers may call, comma-separated.")
    allowed_hosts: tuple[HostHeader, ...] = Field((), description="More Host headers for /mcp, comma-separated.")
    trusted_proxies: tuple[Network, ...] = Field(
        (), description="Addresses or networks of proxies whose X-Forwarded-* headers are trusted, comma-separated."
    )
    metrics_scrape_token: str | None = Field(None, description="Token for /metrics from other machines.", repr=False)
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Minimum level of log lines.")
    log_format: Literal["json", "console"] = Field("console", description="Format of log lines.")

    @field_validator("smtp_ca_file")
    @classmethod
    def _holds_certificates(cls, path: Path | None) -> Path | None:
        if path is not None:
            import ssl  # noqa: PLC0415 - few servers send mail, and all of them start

            try:
                ssl.create_default_context(cafile=path)
            except OSError as error:
                raise ValueError(f"no certificates can be read there ({type(error).__name__})") from None
        return path

    @model_validator(mode="after")
    def _agree(self) -> "Settings":
        if self.jwt_secret is None and not self.on_loopback:
            raise ValueError(
                f"ENGRAIN_JWT_SECRET is needed to listen on {self.host}: set a random one of at least 32 characters,"
                " for example from `openssl rand -hex 32`, or listen on 127.0.0.1"
            )
        if self.mcp_auth_mode == "off" and not self.on_loopback:
            raise ValueError("ENGRAIN_MCP_AUTH_MODE=off is for loopback only: listen on 127.0.0.1 or set it to `auto`")
        if self.mcp_auth_mode == "off" and (self.base_url or self.allowed_hosts or self.trusted_proxies):
            raise ValueError(
                "ENGRAIN_MCP_AUTH_MODE=off answers this machine only: unset ENGRAIN_BASE_URL, ENGRAIN_ALLOWED_HOSTS and"
                " ENGRAIN_TRUSTED_PROXIES, or set it to `auto`"
            )
        if self.embedding_provider in ("openai", "ollama") and not self.embedding_model:
            raise ValueError(
                f"ENGRAIN_EMBEDDING_MODEL is needed with ENGRAIN_EMBEDDING_PROVIDER={self.embedding_provider}"
            )
        if self.llm_provider != "none" and not self.llm_model:
            raise ValueError(f"ENGRAIN_LLM_MODEL is needed with ENGRAIN_LLM_PROVIDER={self.llm_provider}")
        self._check_codehost()
        return self

    def _check_codehost(self) -> None:
        fields = ("client_id", "client_secret", "authorize_url", "token_url", "api_url")
        values = {f"ENGRAIN_CODEHOST_{name.upper()}": getattr(self, f"codehost_{name}") for name in fields}
        missing = [name for name, value in values.items() if not value]
        if 0 < len(missing) < len(values):
            raise ValueError(f"{missing[0]} is needed, as all settings of a code host are where one is set")
        for name, value in values.items():
            if name.endswith("_URL") and value and not is_safe_to_call(value):
                raise ValueError(f"{name} must be an https URL, or one of this machine")

    @property
    def reading_threads(self) -> int:
        return min(self.embedding_threads or READ_AT_ONCE, processors())

    @property
    def is_https(self) -> bool:
        return self.base_url is not None and self.base_url.lower().startswith("https://")

    @property
    def on_loopback(self) -> bool:
        return is_this_machine(self.host)

    @property
    def ledger_url(self) -> str:
        return self.database_url or f"sqlite:///{(self.data_dir / 'ledger.sqlite').absolute()}"


def _field_of(name: str) -> str:
    return name.removeprefix(PREFIX).lower()


def read_settings(environ: Mapping[str, str], **overrides: object) -> tuple[Settings, list[str]]:
    """Read the settings from an environment; `overrides` are command-line options.

    Returns the settings, and a warning for each unknown `ENGRAIN_*` name.
    """
    providers, names = _set_in(environ)
    values: dict[str, object] = {"oidc": providers}
    for name in names:
        field, raw = _field_of(name), environ[name]
        if field in Settings.model_fields and raw != "":
            is_list = get_origin(Settings.model_fields[field].annotation) is tuple
            values[field] = tuple(part.strip() for part in raw.split(",") if part.strip()) if is_list else raw
    values |= {field: value for field, value in overrides.items() if value is not None}
    try:
        return Settings.model_validate(values), unknown_settings(environ)
    except ValidationError as error:
        raise InvalidSetting(_sentence(error)) from None


def unknown_settings(environ: Mapping[str, str]) -> list[str]:
    known, found = [*Settings.model_fields, *CLIENT_SETTINGS], []
    for name in (each for each in _set_in(environ)[1] if _field_of(each) not in known):
        near = difflib.get_close_matches(_field_of(name), known, n=1)
        hint = f"; did you mean {PREFIX}{near[0].upper()}?" if near else ""
        found.append(f"{name} is not a setting of Engrain{hint}")
    return found


def _set_in(environ: Mapping[str, str]) -> tuple[OidcSetting | None, list[str]]:
    providers = read_oidc(environ[OIDC_NAME], environ) if environ.get(OIDC_NAME) else None
    of_providers = {OIDC_NAME, *(providers.secret_names if providers else ())}
    return providers, sorted(name for name in environ if name.startswith(PREFIX) and name not in of_providers)


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return re.sub(r"^Value error, ", "", first["msg"]) + "."
    name = PREFIX + str(first["loc"][0]).upper()
    shown = "" if name.endswith(("SECRET", "KEY", "TOKEN", "PASSWORD")) else f"={without_secrets(str(first['input']))}"
    return f"{name}{shown} is not valid: {first['msg'].removeprefix('Value error, ')}."


def without_secrets(value: str) -> str:
    """Mask passwords and keys in a URL; other values stay as they are."""
    return _PARAMETER.sub(rf"\1={SET}", _PASSWORD.sub(f"{SET}@", value)) if "://" in value else value
