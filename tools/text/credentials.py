"""Credentials in text: well-known forms of keys, tokens and passwords, and their redaction."""

import re

REDACTED = "[redacted]"
_NAMED = r"(?:api[ _-]?key|(?:access|account)[ _-]?key|secret|token|passwd|password|pwd|credentials?|private[_-]?key)"
_CREDENTIALS = (
    (
        "private key",
        ("-----begin",),
        re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END \1-----|\Z)", re.DOTALL),
    ),
    # Issued keys with a prefix of their own: ours and Stripe's, GitHub, GitLab, Slack, AWS, Google, npm, PyPI, models.
    ("issued key", ("_live_", "_test_"), re.compile(r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9_-]{16,}")),
    (
        "issued key",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "npm_", "pypi-", "sk-", "hf_"),
        re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abposr]-|npm_|pypi-|sk-|hf_)[A-Za-z0-9_-]{16,}"),
    ),
    ("cloud key", ("akia", "asia", "aiza"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}")),
    # JSON Web Tokens.
    ("JSON Web Token", ("eyj",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    ("bearer token", ("bearer ",), re.compile(r"(?<=\bbearer )[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE)),
    # The password of a URL, or a token instead of a name.
    ("secret web hook", ("hooks.slack.com",), re.compile(r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{16,}")),
    ("login in a URL", ("://",), re.compile(r"(?<=://)(?:[^\s/:@]*:[^\s/@]+|[^\s/:@]{12,})(?=@)")),
)
"""Patterns, each with its kind, and texts of which one stands in each match, in lower case: these are found faster."""
_NEW = r"(?!\[redacted\]|\s)"
_VALUE = _NEW + r"(?:\"[^\"\n]+\"|'[^'\n]+'|[^\s\"',;&]{3,})"
_ORDINARY = (
    r"(?:an?|the|not|no|now|too|so|in|on|at|by|for|to|be|being|only|still|already|missing|empty|blank|null|none|unset"
    r"|set|reset|wrong|incorrect|invalid|bad|weak|strong|short|long|valid|correct|unknown|optional|out|safe|\w+ed)\b"
)
"""Words after `the password is` that are no password."""
_NAMES = (
    *(f"{word}{mark}key" for word in ("api", "access", "account", "private") for mark in ("", " ", "_", "-")),
    *("secret", "token", "passw", "pwd", "credential"),
)
_NAMED_VALUES = tuple(
    (kind, hints, re.compile(f"(?P<name>{name}){value}", re.IGNORECASE))
    for kind, hints, name, value in (
        (
            "header",
            ("authorization",),
            r"\bauthorization[\"']?:\s*[\"']?",
            rf"{_NEW}(?!\w+ +\[redacted\])(?:[a-z]+ +)?[^\s\"']+",
        ),
        ("header", ("cookie",), r"\bcookie[\"']?:\s*[\"']?", rf"{_NEW}[^\"'\r\n]+"),
        # User and password as for curl; not the numbers of a user and a group, nor a URL.
        (
            "login",
            ("-u",),
            r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]?",
            r"(?:\"[^\":\n]*:[^\"\n]+\"|'[^':\n]*:[^'\n]+')",
        ),
        ("login", ("-u",), r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]?", r"(?!\d+:\d+\b)[^\s\"':]*:(?!//)[^\s\"']+"),
        (
            "named value",
            _NAMES,
            rf"{_NAMED}[\w-]{{0,40}}[\"']?\s*(?:[:=]|\s(?=[\"']))\s*|(?<![\w-])--?[\w-]{{0,40}}{_NAMED}[= ]",
            _VALUE,
        ),
        (
            "named value",
            (*_NAMES, "passp", "passc", "pin "),
            rf"\b(?:{_NAMED}|passphrase|passcode|pin) (?:is|was|will be):? +",
            rf"(?!{_ORDINARY}){_VALUE}",
        ),
    )
)


def redacted(text: str) -> tuple[str, list[str]]:
    """Replace what looks like a credential; return the text and the kind of each."""
    lowered, kinds = text.lower(), []
    for patterns, left in ((_CREDENTIALS, REDACTED), (_NAMED_VALUES, rf"\g<name>{REDACTED}")):
        for kind, hints, pattern in patterns:
            if any(hint in lowered for hint in hints):
                text, found = pattern.subn(left, text)
                kinds += [kind] * found
    return text, kinds
