"""The reference of settings."""

from dataclasses import fields
from typing import Any

from cli.reference.markdown import code, in_words
from tools.runtime.client_settings import DESCRIPTIONS, ClientSettings
from tools.runtime.settings import PREFIX, Settings

INTRO = """\
# Settings

Settings are environment variables. A value that a setting cannot have stops the start with a sentence that says what to
do; an unknown `ENGRAIN_*` name is a warning with the nearest known one; an empty value counts as unset. Options of the
command line win over the environment.

`ENGRAIN_URL` and `ENGRAIN_TOKEN`, at the end, are for the commands that talk to a server; the server does not read
them. All others are the server's."""

NEVER_SHOWN = " A secret: it is never shown in messages."


def page() -> str:
    properties = Settings.model_json_schema()["properties"]
    server = [_section(name, properties[name]) for name in Settings.model_fields]
    client = [_client_section(each.name, is_secret=not each.repr) for each in fields(ClientSettings)]
    return "\n\n".join([INTRO, *server, *client]) + "\n"


def _client_section(name: str, *, is_secret: bool) -> str:
    facts = f"Type: text. Default: unset.{NEVER_SHOWN if is_secret else ''}"
    return f"## {PREFIX}{name.upper()}\n\n{DESCRIPTIONS[name]}\n\n{facts}"


def _section(name: str, schema: dict[str, Any]) -> str:
    field = Settings.model_fields[name]
    variants = [option for option in schema.get("anyOf", [schema]) if option != {"type": "null"}]
    kind = "text, comma-separated" if variants[0].get("type") == "array" else in_words(variants[0])
    facts = [
        f"Type: {kind.replace('string', 'text')}.",
        f"Default: {_default(field.get_default(), field.default_factory)}.",
    ]
    if not field.repr:
        facts.append(NEVER_SHOWN.strip())
    return f"## {PREFIX}{name.upper()}\n\n{field.description}\n\n{' '.join(facts)}"


def _default(value: object, factory: object) -> str:
    if factory is not None:
        return "`engrain` in the platform's folder for user data"
    if value is None or value == ():
        return "unset"
    return code(str(value).lower() if isinstance(value, bool) else value)
