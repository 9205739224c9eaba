"""Kind of a change by its wording."""

import re
from collections.abc import Mapping

from cli.release_notes.facts import ChangeKind

_STEMS: Mapping[ChangeKind, str] = {
    "fix": r"fix|mend|resolv|correct|repair|handl|prevent|avoid|ensur|restor|work(?:ed)? ?around|don't|do not|never"
    r"|stop|hotfix|patch|guard|honou?r|respect|preserv|catch|tolerat|unbreak|properly|correctly|make sure|bug\s?fix",
    "feature": r"add|introduc|implement|support|new|creat|provid|initial|(?:basic|preliminary) support|feature/\S+"
    r"|port",
    "improvement": r"improv|enhanc|allow|accept|enabl|expos|mak|made|extend|widen|increas|chang|updat|refin|tweak"
    r"|switch|us|upgrad|rework|redesign|better|replac|rais|return|reject|requir|show|display|print|includ|set|default|let|pass"
    r"|relax|simplif|adjust|detect|map|convert|run|match|harden|consider|only|bring|renam|mov|quot|escap",
    "performance": r"optimi[sz]|speed(?:s|ed)?[ -]?up|accelerat|cach|faster",
    "deprecation": r"deprecat",
    "removal": r"remov|drop|delet|rip(?:ped)? out|get rid|kill|prun|eliminat|disabl",
    "documentation": r"document|docs?\b|readme|mention|clarif|typo|explain|reword|spelling",
    "internal": r"refactor|clean|clean(?:s|ed|ing)? ?up|test|lint|format|ran\b|merg|wip\b|releas|prepar|bump"
    r"|start new development|version \d|re-?arrang|reorganiz|skip|pin|unpin|sponsor|revert|split|extract|polish|silenc"
    r"|measur|benchmark|consistency|migrat\w* (?:to|testing|tests)",
}
_ENDING = r"(?:y|e|d|s|ed|es|ing|ied|ies|[dgmnpt](?:ed|ing))?(?=[^\w-]|$)"
_FIRST = tuple((kind, re.compile(rf"^(?:{stems}){_ENDING}", re.I)) for kind, stems in _STEMS.items())
_NOW = re.compile(r"\b(?:now|can now|no longer|detects|takes?|supports?|accepts?|gains?)\b", re.I)
_METHOD = re.compile(
    r"^(?:the )?[\w.]+\(?[^()]{0,40}\)? (?:method|command|option|parameter|function|class|setting)s?\b", re.I
)
_NEW_LATER = re.compile(r",? (?:added|new) (?:`|--|\w+[.(])", re.I)
_STRONG: tuple[tuple[ChangeKind, re.Pattern[str]], ...] = (
    ("security", re.compile(
        r"\bCVE-\d{4}-\d+|\bGHSA-[\w-]+|\b(?:security|vulnerabilit(?:y|ies))\b(?! (?:policy|contact|md|page"
        r"|alerts? badge))|\b(?:sql|command|cypher|code|html|shell|header|log|template)[ -]injection|\bXSS\b|\bCSRF\b"
        r"|\bSSRF\b|path traversal|directory traversal|\bPII\b|leak(?:s|ed|ing)? (?:credentials?|secrets?|tokens?"
        r"|passwords?)", re.I)),
    ("deprecation", re.compile(r"^deprecat|\bdeprecat(?:e|es|ed|ion)\b(?=.*\bwarning)|\bdeprecated warnings?\b", re.I)),
    ("performance", re.compile(
        r"\b(?:performance|speed[ -]?up|faster|throughput|latency|memory (?:usage|footprint))\b", re.I)),
)  # fmt: skip
_CHORE = re.compile(
    r"^(?:(?:bump|update|set|upgrade)\w*(?: up)? (?:the )?(?:\S+ )?version\b"
    r"|(?:prepare[ds]?|release[ds]?|version|cut|tag)(?: for)?(?: release)? v?\d[\w.+-]*|v?\d+\.\d+[\w.+-]*$"
    r"|start(?:ed)? new development|back to development|(?:post|pre)[- ]release|release notes? for"
    r"|@\S+ has signed the CLA|bump \S+ version to\b|bump(?:ed)? to v?\d|bump \S+ to \d+\.\d+|initial commit$"
    r"|merge (?:branch|remote|tag)|changelog\b|\[?skip ci\]?|release: |version bump|next version|begin development)",
    re.I,
)
_INTERNAL_WORDS = re.compile(
    r"\b(?:mypy|pyright|flake8|ruff|pylint|black|isort|ty errors?|type[ -]check(?:er|ers|ing)?|lint(?:er|ers|ing)?"
    r"|flaky|flakiness|typos?|docstrings?|type (?:hints?|annotations?)|annotations?|unused|refactor\w*|internal(?:s"
    r"|ly)?\b(?! fork)|pre-commit|codespell|test suite|tests?\b(?! client)|CI\b|github actions|workflows?|coverage"
    r"|sponsors?|codeowners|dependabot|whitespace|comments?\b(?! syntax)|__slots__|typing|circular imports?"
    r"|code review|review feedback|reformat\w*|justfile|tox)\b",
    re.I,
)
_ABOUT = (
    r"^(?:add|fix|updat|tweak|improv|correct|chang|edit|regenerat|rewrit|reword|extend|remov)\w*\s+"
    r"(?:(?:the|an?|some|all|missing|more|broken|new|old|wrong|demo|dev|to_\w+)\s+){0,3}"
)
_DOCUMENTS = re.compile(
    _ABOUT + r"(?:(?:change ?log|docs?|documentation|read ?me(?:\.\w+)?|docstrings?|versionchanged|versionadded"
    r"|demo screenshots?|explanations?|(?:history|changes)\.(?:md|rst|txt))(?:\s+(?:tags?|entry|entries|rendering"
    r"|links?|pages?|sections?|notes?|directives?|builds?|(?:for|about|of|on|to|in)\s.*))?$|links? (?:to"
    r"|in) .*\b(?:docs?|documentation|readme)$)",
    re.I,
)
_TOOLS = re.compile(
    _ABOUT + r"(?:\.(?:git|docker|prettier|eslint|npm)ignore|gitignore|\.gitattributes|\.editorconfig"
    r"|lint\w*|CI|dev(?: deps)?|deps|pre-commit(?: \w+)?|codeowners|makefile|dev dependencies|test(?:s|ing)?)$"
    r"|\bto (?:all |the )?CI$",
    re.I,
)
_KNOWN_ISSUE = re.compile(r"^known (?:issues?|problems?|bugs?|limitations?)\s*(?::| -)\s*(?P<rest>\S.*)$", re.I)


def kind_of(text: str) -> ChangeKind:
    if _TOOLS.search(text):
        return "internal"
    if _DOCUMENTS.match(text):
        return "documentation"
    first = next((kind for kind, pattern in _FIRST if pattern.match(text)), None)
    strong = next((kind for kind, pattern in _STRONG if pattern.search(text)), None)
    if strong and first not in ("documentation", "internal"):
        return strong
    if first == "improvement" and _NEW_LATER.search(text):
        return "feature"
    if first is not None:
        return first
    return _without_verb(text)


def _without_verb(text: str) -> ChangeKind:
    if re.search(r"\bno longer\b|\bfix(?:ed|es)?\b", text, re.I):
        return "fix"
    if (
        _NEW_LATER.search(text)
        or _METHOD.search(text)
        or re.search(r"\bnow (?:supports?|accepts?|takes?)\b", text, re.I)
    ):
        return "feature"
    if re.search(r"\bin the (?:docs|documents|documentation|read ?me|change ?log)\b", text, re.I):
        return "documentation"
    return "improvement" if _NOW.search(text) else "other"


def is_chore(text: str) -> bool:
    return bool(_CHORE.match(text))


def sounds_internal(text: str) -> bool:
    """Return whether a subject is about tests, types, tools or tidying."""
    return bool(_INTERNAL_WORDS.search(text))


def known_issue(text: str) -> str | None:
    match = _KNOWN_ISSUE.match(text)
    return match["rest"] if match else None
