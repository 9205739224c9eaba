"""The reference of settings."""

from typing import Any, get_args

from cli.reference.markdown import code, in_words
from tools.settings import PREFIX, Settings

INTRO = """\
# Settings

Settings are environment variables. A value that a setting cannot have stops the start with a sentence that says what to
do; an unknown `ENGRAIN_*` name is a warning with the nearest known one; an empty value counts as unset. Options of the
command line win over the environment."""


def page() -> str:
    """Describe every setting."""
    properties = Settings.model_json_schema()["properties"]
    return "\n\n".join([INTRO, *[_section(name, properties[name]) for name in Settings.model_fields]]) + "\n"


def _section(name: str, schema: dict[str, Any]) -> str:
    field = Settings.model_fields[name]
    variants = [option for option in schema.get("anyOf", [schema]) if option != {"type": "null"}]
    kind = "text, comma-separated" if variants[0].get("type") == "array" else in_words(variants[0])
    facts = [
        f"Type: {kind.replace('string', 'text')}.",
        f"Default: {_default(field.get_default(), field.default_factory)}.",
    ]
    if not field.repr:
        facts.append("A secret: it is never shown in messages.")
    return f"## {PREFIX}{name.upper()}\n\n{field.description}\n\n{' '.join(facts)}"


def _default(value: object, factory: object) -> str:
    if factory is not None:
        return "`engrain` in the platform's folder for user data"
    if value is None or value == ():
        return "unset"
    return code(str(value).lower() if isinstance(value, bool) else value)


def choices(name: str) -> tuple[object, ...]:
    """The words that a setting accepts; empty for free values."""
    return get_args(Settings.model_fields[name].annotation)
