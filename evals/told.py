"""What a run keeps of the settings that its server was given: of secrets only that they were set."""

import re
from collections.abc import Mapping

from stores.errors import InvalidSetting
from tools.settings import PREFIX, Settings
from tools.settings_oidc import NAME as OIDC
from tools.settings_oidc import read_oidc

SET = "(set)"
_SECRET = frozenset(
    {f"{PREFIX}{name.upper()}" for name, field in Settings.model_fields.items() if not field.repr} | {f"{PREFIX}TOKEN"}
)
_PASSWORD = re.compile(r"(?<=://)[^@]*:.*@", re.DOTALL)
"""In front of the host of an address, as that of a database; what is between may be anything."""
_PARAMETER = re.compile(r"(?<=[?&])([^=&#]*)=[^&#]+")
"""Behind the path of an address: libraries read passwords and keys from there, too."""


def told(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as they may be kept and shown."""
    secret = _SECRET | _secrets_of_providers(settings)
    return {name: SET if value and name in secret else _shown(str(value)) for name, value in settings.items()}


def _shown(value: str) -> str:
    if "://" not in value:
        return value
    return _PARAMETER.sub(rf"\1={SET}", _PASSWORD.sub(f"{SET}@", value))


def _secrets_of_providers(settings: Mapping[str, str]) -> frozenset[str]:
    """The names under which providers that sign in find their secrets; they are among the settings as well."""
    try:
        providers = read_oidc(settings[OIDC], settings) if settings.get(OIDC) else None
    except InvalidSetting:
        return frozenset(settings) - {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    return providers.secret_names if providers else frozenset()
