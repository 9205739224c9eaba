"""What an analysis remarks about itself, as readers of a preset understand it."""

import re

from cli.release_notes.document.presets import Preset

_CUT = re.compile(r"Of ([\d,]+) changes of kind (api|command|flag|setting) the first ([\d,]+) are listed\.?")
_WHAT = {"api": "the public API", "command": "commands", "flag": "flags", "setting": "settings"}


def remarked(remark: str, preset: Preset) -> str:
    """Return a remark in plain words; empty where it is about a list that the preset does not have."""
    found = _CUT.fullmatch(remark)
    if found is None:
        return remark
    if not preset.surface:
        return ""
    return f"The diff has {found[1]} changes of {_WHAT[found[2]]}; {found[3]} of them were looked at"
