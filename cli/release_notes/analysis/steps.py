"""What somebody who upgrades has to do, as far as subjects and touched files tell it without a note."""

import re
from collections.abc import Iterable

_GUIDE = re.compile(
    r"(?:^|/)(?:upgrad(?:e|ing)|migrat(?:e|ing|ion))(?:[-_ ](?:guide|notes?|from|to)[\w.-]*|[-_]?v?\d[\w.]*)?"
    r"\.(?:md|rst|txt|adoc|markdown)$|(?:^|/)(?:docs?/)(?:[\w-]+/)?upgrad(?:e|ing)/[\w./-]+\.(?:md|rst|txt|adoc)$",
    re.I,
)
_SAYS = re.compile(
    r"\b(?:use|replace|instead|rename|call|pass|set|must|need(?:s|ed)? to|ha(?:ve|s) to|should|migrate|switch|upgrade"
    r"|add|change|import|install|run|see|remove)\b",
    re.I,
)
"""A note with one of these words says itself what to do."""
_NEW_NAME = re.compile(
    r"^(?:renam(?:e|es|ed|ing)|replac(?:e|es|ed|ing))\s+(?:the\s+)?(?P<old>\S.{0,120}?)\s+(?:to|with|by|into)\s+(?:the\s+)?"
    r"(?P<new>\S.{0,120})$",
    re.I,
)
_OTHER_ERROR = re.compile(
    r"^raise[sd]?\s+(?:an?\s+)?(?P<new>\S{1,120})\s+(?:instead of|rather than|not)\s+"
    r"(?:an?\s+)?(?P<old>`[^`]{1,120}`|[\w.]+)",
    re.I,
)
_GONE = re.compile(r"^(?:remov(?:e|es|ed|ing)|drop(?:s|ped|ping)?|delet(?:e|es|ed|ing))\s+(?P<old>\S.{0,160})$", re.I)
_SUPPORT = re.compile(r"^(?:the )?(?:official )?support (?:for|of) ", re.I)
_BEGINS = re.compile(r"^(?:the|an?|all|deprecated|old|support)\b", re.I)


def says_a_step(note: str) -> bool:
    """Say whether the note of a breaking change says what to do."""
    return bool(_SAYS.search(note))


def step_of(text: str, note: str | None) -> str | None:
    """Return the step that the subject of a breaking change implies; None where there is none, or its note says it."""
    if note and says_a_step(note):
        return None
    if (found := _NEW_NAME.match(text)) and not re.search(r" (?:and|or) (?:renam|remov|add)", found["new"], re.I):
        return f"Use {found['new']} instead of {found['old']}."
    if found := _OTHER_ERROR.match(text):
        return f"Catch {found['new']} instead of {found['old']}."
    if (found := _GONE.match(text)) and ", " not in found["old"]:
        old = _SUPPORT.sub("", found["old"])
        return f"Stop using {old if _BEGINS.match(old) or not old[:1].isalpha() else _named(old)}."
    return None


def _named(old: str) -> str:
    """Return a name as it is, and common words with an article."""
    words = old.split()
    is_name = len(words) == 1 or words[0][:1].isupper() or not words[0].isalpha() or words[0].endswith("s")
    return old if is_name else f"the {old}"


def guides(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those paths that are guides to upgrading."""
    return tuple(dict.fromkeys(path for path in paths if _GUIDE.search(path)))[:3]


def pointer(found: Iterable[str]) -> str | None:
    """Return the step of reading guides."""
    named = " and ".join(f"`{path}`" for path in found if "`" not in path)
    return f"See {named}." if named else None
