"""Settings of a server as kept by a run, secrets masked."""

from collections.abc import Mapping

from stores.errors import InvalidSetting
from tools.runtime.settings import PREFIX, SET, Settings, without_secrets
from tools.runtime.settings_oidc import NAME as OIDC
from tools.runtime.settings_oidc import read_oidc

_SECRET = frozenset(
    {f"{PREFIX}{name.upper()}" for name, field in Settings.model_fields.items() if not field.repr} | {f"{PREFIX}TOKEN"}
)


def settings_snapshot(settings: Mapping[str, str]) -> dict[str, str]:
    secret = _SECRET | _secrets_of_providers(settings)
    return {name: SET if value and name in secret else without_secrets(str(value)) for name, value in settings.items()}


def _secrets_of_providers(settings: Mapping[str, str]) -> frozenset[str]:
    try:
        providers = read_oidc(settings[OIDC], settings) if settings.get(OIDC) else None
    except InvalidSetting:
        return frozenset(settings) - {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    return providers.secret_names if providers else frozenset()
