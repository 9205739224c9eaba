"""Credentials in text: well-known forms of keys, tokens and passwords, and their redaction."""

import re

REDACTED = "[redacted]"
_NAMED = r"(?:api[_-]?key|access[_-]?key|secret|token|passwd|password|pwd|credentials?|private[_-]?key)"
_CREDENTIALS = (
    re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END \1-----|\Z)", re.DOTALL),
    # Issued keys with a prefix of their own: ours and Stripe's, GitHub, GitLab, Slack, AWS, Google, npm, PyPI, models.
    re.compile(r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abposr]-|npm_|pypi-|sk-|hf_)[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}"),
    # JSON Web Tokens.
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(r"(?<=\bauthorization: )(?:basic|bearer) +\S+|(?<=\bbearer )[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE),
    # The password of a URL, or a token instead of a name.
    re.compile(r"(?<=://)(?:[^\s/:@]*:[^\s/@]+|[^\s/:@]{12,})(?=@)"),
)
_ASSIGNED = re.compile(
    rf"(?P<name>\b[\w.-]*{_NAMED}[\w-]*[\"']?\s*(?:[:=]|\s(?=[\"']))\s*|--?[\w-]*{_NAMED}[= ])"
    r"(?:\"[^\"\n]+\"|'[^'\n]+'|(?!\[redacted\])[^\s\"',;&]{3,})",
    re.IGNORECASE,
)


def redacted(text: str) -> tuple[str, int]:
    """Replace what looks like a credential; return the text and how many there were."""
    count = 0
    for pattern in _CREDENTIALS:
        text, found = pattern.subn(REDACTED, text)
        count += found
    text, found = _ASSIGNED.subn(rf"\g<name>{REDACTED}", text)
    return text, count + found
