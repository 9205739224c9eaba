"""Credentials in text: well-known forms of keys, tokens and passwords, and their redaction."""

import re

REDACTED = "[redacted]"
_NAMED = r"(?:api[ _-]?key|access[ _-]?key|secret|token|passwd|password|pwd|credentials?|private[_-]?key)"
_CREDENTIALS = (
    re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END \1-----|\Z)", re.DOTALL),
    # Issued keys with a prefix of their own: ours and Stripe's, GitHub, GitLab, Slack, AWS, Google, npm, PyPI, models.
    re.compile(r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abposr]-|npm_|pypi-|sk-|hf_)[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}"),
    # JSON Web Tokens.
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(r"(?<=\bbearer )[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE),
    # The password of a URL, or a token instead of a name.
    re.compile(r"(?<=://)(?:[^\s/:@]*:[^\s/@]+|[^\s/:@]{12,})(?=@)"),
)
_NEW = r"(?!\[redacted\]|\s)"
_VALUE = _NEW + r"(?:\"[^\"\n]+\"|'[^'\n]+'|[^\s\"',;&]{3,})"
_ORDINARY = (
    r"(?:an?|the|not|no|now|too|so|in|on|at|by|for|to|be|being|only|still|already|missing|empty|blank|null|none|unset"
    r"|set|reset|wrong|incorrect|invalid|bad|weak|strong|short|long|valid|correct|unknown|optional|out|safe|\w+ed)\b"
)
"""Words after `the password is` that are no password."""
_NAMED_VALUES = tuple(
    re.compile(f"(?P<name>{name}){value}", re.IGNORECASE)
    for name, value in (
        (r"\bauthorization[\"']?:\s*[\"']?", rf"{_NEW}(?!\w+ +\[redacted\])(?:[a-z]+ +)?[^\s\"']+"),
        (r"\bcookie[\"']?:\s*[\"']?", rf"{_NEW}[^\"'\r\n]+"),
        # User and password as for curl; not the numbers of a user and a group, nor a URL.
        (r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]?", r"(?:\"[^\":\n]*:[^\"\n]+\"|'[^':\n]*:[^'\n]+')"),
        (r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]?", r"(?!\d+:\d+\b)[^\s\"':]*:(?!//)[^\s\"']+"),
        (rf"{_NAMED}[\w-]{{0,40}}[\"']?\s*(?:[:=]|\s(?=[\"']))\s*|(?<![\w-])--?[\w-]{{0,40}}{_NAMED}[= ]", _VALUE),
        (rf"\b(?:{_NAMED}|passphrase|passcode|pin) (?:is|was|will be):? +", rf"(?!{_ORDINARY}){_VALUE}"),
    )
)


_HINTS = (
    "key", "secret", "token", "pass", "pwd", "credential", "_live_", "_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
    "github_pat_", "glpat-", "xox", "npm_", "pypi-", "sk-", "hf_", "akia", "asia", "aiza", "eyj", "bearer", "://",
    "authorization", "cookie", "-u", "pin",
)  # fmt: skip
"""One of these stands in each credential, in lower case; looking for them takes a hundredth of the patterns' time."""


def redacted(text: str) -> tuple[str, int]:
    """Replace what looks like a credential; return the text and how many there were."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text, 0
    count = 0
    for pattern in _CREDENTIALS:
        text, found = pattern.subn(REDACTED, text)
        count += found
    for pattern in _NAMED_VALUES:
        text, found = pattern.subn(rf"\g<name>{REDACTED}", text)
        count += found
    return text, count
