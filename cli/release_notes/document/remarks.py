"""Remarks of the analysis, worded by preset."""

import re

from cli.release_notes.document.links import span_of
from cli.release_notes.document.presets import Preset
from cli.release_notes.document.wording import sentence
from cli.release_notes.facts import ReleaseFacts
from tools.text.inline import inert

_CUT = re.compile(r"Of ([\d,]+) changes of kind (api|command|flag|setting) the first ([\d,]+) are listed\.?")
_WHAT = {"api": "the public API", "command": "commands", "flag": "flags", "setting": "settings"}


def remarked(remark: str, facts: ReleaseFacts, preset: Preset) -> str:
    """Return a remark as Markdown; empty if the preset lacks its list."""
    found = _CUT.fullmatch(remark)
    if found is None:
        return sentence(inert(remark))
    if not preset.surface:
        return ""
    what = f"{found[1]} changes of {_WHAT[found[2]]}"
    return f"The diff of {span_of(facts)} has {what}; {found[3]} of them were looked at."
