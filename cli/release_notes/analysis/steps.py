"""Upgrade steps in commit messages."""

import re
from collections.abc import Iterable

_GUIDE = re.compile(
    r"(?:^|/)(?:upgrad(?:e|ing)|migrat(?:e|ing|ion))(?:[-_ ](?:guide|notes?|from|to)[\w.-]*|[-_]?v?\d[\w.]*)?"
    r"\.(?:md|rst|txt|adoc|markdown)$|(?:^|/)(?:docs?/)(?:[\w-]+/)?upgrad(?:e|ing)/[\w./-]+\.(?:md|rst|txt|adoc)$",
    re.I,
)
_SAYS = re.compile(
    r"\b(?:use|replace|instead|rename|call|pass|set|must|need(?:s|ed)? to|ha(?:ve|s) to|should|migrate|switch|upgrade"
    r"|add|(?<!breaking )change|import|install|run|see|remove)\b",
    re.I,
)
_TOLD_YOU = re.compile(
    r"^(?=.*\b(?:instead|yours?|yourself)\b)(?:please |instead,? |to migrate,? )?"
    r"(?:add|call|change|import|install|migrate|pass|pin|remove|rename|replace|run|set|switch|upgrade|use|wrap) "
    r"|\byou (?:must|need to|have to|should)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!])\s+(?=[A-Z`])")
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
_MOST_TOLD = 5
_WHAT = re.compile(
    r"^\S+ (?:flag|option|parameter|argument|command|method|class|function|endpoint|setting|feature|module|exception)$",
    re.I,
)
_BEGINS = re.compile(r"^(?:the|an?|all|deprecated|old|support)\b", re.I)


def says_a_step(note: str) -> bool:
    return bool(_SAYS.search(note))


def told_in(details: str) -> str | None:
    """Return the sentences of a body that tell users what to do."""
    prose = (" ".join(paragraph.split()) for paragraph in details.split("\n\n") if not paragraph.startswith("    "))
    told = [each for paragraph in prose for each in _SENTENCES.split(paragraph) if _TOLD_YOU.search(each)]
    return " ".join(told[:_MOST_TOLD]) or None


def step_of(text: str, note: str | None) -> str | None:
    """Return the upgrade step that a breaking subject implies, if any; None for unbalanced backticks."""
    if (note and says_a_step(note)) or text.count("`") % 2:
        return None
    if (found := _NEW_NAME.match(text)) and not re.search(r" (?:and|or) (?:renam|remov|add)", found["new"], re.I):
        return f"Use {found['new']} instead of {_named(found['old'])}."
    if found := _OTHER_ERROR.match(text):
        return f"Catch {found['new']} instead of {found['old']}."
    found = _GONE.match(text)
    if not found or ", " in found["old"] or found["old"][0].isdigit():
        return None
    old = _SUPPORT.sub("", found["old"]).removesuffix(" support")
    old, favoured, new = old.partition(" in favor of ")
    return f"Use {new} instead of {_named(old)}." if favoured and new else f"Stop using {_named(old)}."


def _named(old: str) -> str:
    return f"the {old}" if _WHAT.search(old) and not _BEGINS.match(old) and not old.startswith("`") else old


def guides(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for path in paths if _GUIDE.search(path)))[:3]


def pointer(found: Iterable[str]) -> str | None:
    named = " and ".join(f"`{path}`" for path in found if "`" not in path)
    return f"See {named}." if named else None
