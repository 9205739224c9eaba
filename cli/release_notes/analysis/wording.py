"""Kind of a change by its wording."""

import re

from cli.release_notes.facts import ChangeKind

_VERBS: tuple[tuple[ChangeKind, str], ...] = (
    ("fix", r"fix(?:e[sd]|ing)?|mend(?:s|ed)?|resolve[sd]?|correct(?:s|ed)?|repair(?:s|ed)?"
            r"|handle[sd]?|prevent(?:s|ed)?|avoid(?:s|ed)?"
            r"|ensure[sd]?|restore[sd]?|workaround|work(?:ed)? around|don't|do not|never|stop(?:s|ped)?|hotfix"
            r"|patch(?:ed)?"
            r"|guard(?:s|ed)?|honou?r(?:s|ed)?|respect(?:s|ed)?|preserve[sd]?|catch|tolerate|unbreak|properly|correctly"
            r"|make sure|clean cli errors|bug\s?fix"),
    ("feature", r"add(?:s|ed|ing)?|introduc(?:e|es|ed|ing)|implement(?:s|ed)?|support(?:s|ed)?|new|create[sd]?"
                r"|provide[sd]?|initial|basic support|preliminary support|feature/\S+|port(?:ed)? "),
    ("improvement", r"improve[sd]?|enhance[sd]?|allow(?:s|ed)?|accept(?:s|ed)?|enable[sd]?|expose[sd]?|make[s]?|made"
                    r"|extend(?:s|ed)?|widen(?:s|ed)?|increase[sd]?|change[sd]?|update[sd]?|refine[sd]?|tweak(?:s|ed)?"
                    r"|switch(?:ed|es)?|use[sd]?|upgrade[sd]?|rework(?:ed)?|redesign(?:ed)?|better|replace[sd]?|raise[sd]?"
                    r"|return(?:s|ed)?|reject(?:s|ed)?|require[sd]?|show|display|print|include[sd]?|set|default|let|pass"
                    r"|relax(?:ed)?|simplif(?:y|ies|ied)|adjust(?:ed|s)?|detect(?:s|ed)?|map(?:ped)?|convert|run|incorporated"
                    r"|match|switched|harden(?:ed|s)?|consider|only|bring|rename[sd]?|move[sd]?|quote|escape"),
    ("performance", r"optimi[sz](?:e|es|ed|ing)|speed(?:s|ed)?[ -]?up|accelerate[sd]?|cache[sd]?|faster"),
    ("deprecation", r"deprecat(?:e|es|ed|ing)"),
    ("removal", r"remov(?:e|es|ed|ing)|drop(?:s|ped|ping)?|delete[sd]?|rip(?:ped)? out|get rid|kill|prune[sd]?"
                r"|eliminate"
                r"|disable[sd]?"),
    ("documentation", r"document(?:s|ed|ing)?|docs?\b|readme|mention(?:s|ed)?|clarif(?:y|ies|ied)|typos?"
                      r"|explain(?:s|ed)?"
                      r"|reword(?:ed)?|spelling"),
    ("internal", r"refactor(?:s|ed|ing)?|clean(?:s|ed|ing)?(?: ?up)?|test(?:s|ed|ing)?|lint|format(?:ted)?|ran\b"
                 r"|merge[d]?"
                 r"|wip\b|release[d]?|prepare[sd]?|bump(?:s|ed)?|start new development|version \d|apply black"
                 r"|applied black"
                 r"|re-?arrange[sd]?|reorganiz|skip(?:ped)?|pin(?:ned)?|unpin|sponsor|revert|split|extract"
                 r"|run (?:ty|cog|"
                 r"mypy|black|ruff)|polish|silence|measure[sd]?"
                 r"|benchmark(?:s|ed)?|worked on my|consistency|migrate[d]? (?:to|testing|tests)"),
)  # fmt: skip
_FIRST = tuple((kind, re.compile(rf"^(?:{pattern})(?=[^\w-]|$)", re.I)) for kind, pattern in _VERBS)
_NOW = re.compile(r"\b(?:now|can now|no longer|detects|takes?|supports?|accepts?|gains?)\b", re.I)
_METHOD = re.compile(
    r"^(?:the )?[\w.]+\(?[^()]{0,40}\)? (?:method|command|option|parameter|function|class|setting)s?\b", re.I
)
_NEW_LATER = re.compile(r",? (?:added|new) (?:`|--|\w+[.(])", re.I)
_STRONG: tuple[tuple[ChangeKind, re.Pattern[str]], ...] = (
    ("security", re.compile(
        r"\bCVE-\d{4}-\d+|\bGHSA-[\w-]+|\b(?:security|vulnerabilit(?:y|ies))\b(?! (?:policy|contact|md|page"
        r"|alerts? badge))"
        r"|\b(?:sql|command|cypher|code|html|shell|header|log|template)[ -]injection|\bXSS\b|\bCSRF\b|\bSSRF\b"
        r"|path traversal|directory traversal|\bPII\b|leak(?:s|ed|ing)? (?:credentials?|secrets?|tokens?"
        r"|passwords?)", re.I)),
    ("deprecation", re.compile(r"^deprecat|\bdeprecat(?:e|es|ed|ion)\b(?=.*\bwarning)|\bdeprecated warnings?\b", re.I)),
    ("performance", re.compile(
        r"\b(?:performance|speed[ -]?up|faster|throughput|latency|memory (?:usage|footprint))\b", re.I)),
)  # fmt: skip
_CHORE = re.compile(
    r"^(?:(?:bump(?:ed|s)?|update[ds]?|set|upgrade[ds]?)(?: up)? (?:the )?(?:\S+ )?version\b|(?:prepare[ds]?"
    r"|release[ds]?|version|cut"
    r"|tag)(?: for)?(?: release)? v?\d[\w.+-]*|v?\d+\.\d+[\w.+-]*$|start(?:ed)? new development|back to development"
    r"|(?:post|pre)[- ]release|release notes? for|@\S+ has signed the CLA|bump \S+ version to\b|bump(?:ed)? to v?\d"
    r"|initial commit$|applied black|ran (?:black|cog|ruff|isort)|merge (?:branch|remote|tag)|bump \S+ to \d+\.\d+"
    r"|changelog\b|\[?skip ci\]?|release: |version bump|next version|begin development)",
    re.I,
)
_INTERNAL_WORDS = re.compile(
    r"\b(?:mypy|pyright|flake8|ruff|pylint|black|isort|ty errors?|type[ -]check(?:er|ers|ing)?|lint(?:er|ers|ing)?"
    r"|flaky|flakiness"
    r"|typos?|docstrings?|type (?:hints?|annotations?)|annotations?|unused|refactor\w*|internal(?:s"
    r"|ly)?\b(?! fork)|pre-commit|codespell"
    r"|test suite|tests?\b(?! client)|CI\b|github actions|workflows?|coverage|sponsors?|codeowners|dependabot"
    r"|whitespace"
    r"|comments?\b(?! syntax)|__slots__|typing|circular imports?|code review|review feedback|reformat\w*|justfile"
    r"|tox)\b",
    re.I,
)
_ABOUT = (
    r"^(?:add(?:s|ed|ing)?|fix(?:e[sd]|ing)?|update[sd]?|tweak(?:s|ed)?|improve[sd]?|correct(?:s|ed)?|change[sd]?|edit(?:s|ed)?"
    r"|regenerate[sd]?|rewrite|reword(?:ed)?|extend(?:s|ed)?|remove[sd]?)\s+(?:(?:the|an?|some|all|missing|more|broken|new|old"
    r"|wrong|demo|dev|to_\w+)\s+){0,3}"
)
_DOCUMENTS = re.compile(
    _ABOUT + r"(?:(?:change ?log|docs?|documentation|read ?me(?:\.\w+)?|docstrings?|versionchanged|versionadded"
    r"|demo screenshots?|explanations?|(?:history|changes)\.(?:md|rst|txt))"
    r"(?:\s+(?:tags?|entry|entries|rendering|links?|pages?|sections?"
    r"|notes?|directives?|builds?|(?:for|about|of|on|to|in)\s.*))?$"
    r"|links? (?:to|in) .*\b(?:docs?|documentation|readme)$)",
    re.I,
)
_TOOLS = re.compile(
    _ABOUT + r"(?:\.(?:git|docker|prettier|eslint|npm)ignore|gitignore|\.gitattributes|\.editorconfig"
    r"|lint\w*|CI|dev(?: deps)?|deps"
    r"|pre-commit(?: \w+)?|codeowners|makefile|dev dependencies|test(?:s|ing)?)$"
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
