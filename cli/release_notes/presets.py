"""Presets and providers, as tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

PROVIDERS: Mapping[str, str] = {
    "openai": "openai", "anthropic": "anthropic", "claude": "anthropic", "google": "google", "ollama": "ollama",
    "offline": "offline", "none": "offline",
}  # fmt: skip


class PresetName(StrEnum):
    DEFAULT = "default"
    CONCISE = "concise"
    DETAILED = "detailed"
    TECHNICAL = "technical"


@dataclass(frozen=True, slots=True)
class Preset:
    """The most of each list; `terse` leaves out scopes, second sentences and remarks, `details` shows whole bodies."""

    highlights: int
    listed: int
    other: int
    cited: int
    people: int
    manner: str
    details: bool = False
    terse: bool = False


PRESETS: dict[PresetName, Preset] = {
    PresetName.DEFAULT: Preset(
        5, 2_000, 0, 3, 30, "Write for users of the project: what they can do now, and what they have to do. Plainly."
    ),
    PresetName.CONCISE: Preset(
        3, 5, 0, 1, 15, "Be brief: at most twelve words for each statement, two sentences for the overview.", terse=True
    ),
    PresetName.DETAILED: Preset(
        8, 2_000, 20, 10, 100, "Be thorough: say what each change is, why it was made and what it means.", details=True
    ),
    PresetName.TECHNICAL: Preset(
        5, 2_000, 2_000, 10, 100, "Write for developers: name the interfaces and settings that changed, precisely."
    ),
}
