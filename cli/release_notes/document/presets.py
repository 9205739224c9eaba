"""Presets, as a table."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class PresetName(StrEnum):
    DEFAULT = "default"
    CONCISE = "concise"
    DETAILED = "detailed"
    TECHNICAL = "technical"


@dataclass(frozen=True, slots=True)
class Preset:
    """The shape of a document.

    Attributes:
        highlights, listed, other, people: Most highlights, statements per list, minor changes and names; the rest is
            counted.
        details: Parts of a message's body shown in lists.
        surface: Show dependencies, moved files and areas.
        cited: Commits cited per statement.
        manner: Style instruction for a language model.
    """

    highlights: int
    listed: int
    details: Literal["none", "paragraphs"]
    scopes: bool
    other: int
    surface: bool
    cited: int
    people: int
    manner: str
    terse: bool = False


PRESETS: dict[PresetName, Preset] = {
    PresetName.DEFAULT: Preset(
        5, 15, "none", scopes=True, other=0, surface=False, cited=3, people=30,
        manner="Write for users of the project: what they can do now, and what they have to do. Plain and friendly.",
    ),
    PresetName.CONCISE: Preset(
        3, 5, "none", scopes=False, other=0, surface=False, cited=1, people=15, terse=True,
        manner="Be brief: at most twelve words for each statement, two sentences for the overview.",
    ),
    PresetName.DETAILED: Preset(
        8, 200, "paragraphs", scopes=True, other=20, surface=False, cited=10, people=100,
        manner="Be thorough: say for each change what it is, why it was made and what it means for users.",
    ),
    PresetName.TECHNICAL: Preset(
        5, 60, "none", scopes=True, other=60, surface=True, cited=10, people=100,
        manner="Write for developers: name the interfaces, settings, modules and mechanisms that changed, precisely.",
    ),
}  # fmt: skip
