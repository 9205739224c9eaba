"""Credentials in text: well-known forms of keys, tokens and passwords, and their redaction."""

import re

REDACTED = "[redacted]"
_NAMED = r"(?:(?:api|access|account)[ _-]?key|secret|token|passwd|password|pwd|credentials?|private[_-]?key)"
_PEM = r"[A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
_CUT = rf"\A(?:(?!-----).){{1,20000}}-----END {_PEM}"
"""A private key whose beginning was cut off."""
_CREDENTIALS = (
    (("-----begin", "-----end"), re.compile(rf"(?s)-----BEGIN ({_PEM}).*?(?:-----END \1|\Z)|{_CUT}")),
    # Issued keys with a prefix of their own: ours and Stripe's, GitHub, Docker, GitLab, Slack, npm, PyPI, models;
    # then AWS, Google, SendGrid.
    (("_live_", "_test_"), re.compile(r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9_-]{16,}")),
    (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "_pat_", "glpat-", "xox", "npm_", "pypi-", "sk-", "hf_"),
        re.compile(r"\b(?:gh[pousr]_|(?:github|dckr)_pat_|glpat-|xox[abposr]-|npm_|pypi-|sk-|hf_)[A-Za-z0-9_-]{16,}"),
    ),
    (
        ("akia", "asia", "aiza", "sg."),
        re.compile(r"\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}\b|AIza[A-Za-z0-9_-]{35}|SG\.[\w-]{16,64}\.[\w-]{32,64})"),
    ),
    # JSON Web Tokens.
    (("eyj",), re.compile(r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    (("bearer ",), re.compile(r"(?<=\bbearer )[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE)),
    (("hooks.slack.com",), re.compile(r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{16,}")),
    # The password of a URL, or a token instead of a name.
    (("://",), re.compile(r"(?<=://)(?:[^\s/:@]*:[^\s/\"<>]+|[^\s/:@]{12,})(?=@)")),
)
"""Patterns, each with texts of which one stands in each match, in lower case: looking for those is much faster."""
_NEW = r"(?!\[redacted\]|\s)"
_PART = r"[^\s\"',;&]|[,&](?![\w.-]+[=:]|[\s\"')\]}]|$)|(?<=\w)'(?=\w)"
"""Part of a value without quotes: a comma, too, unless the value ends there or the next name follows."""
_VALUE = _NEW + rf"(?:\"(?:[^\"\\\n]|\\.)+\"|\\?\"[^\"\n]+\"|'[^'\n]+'|(?:{_PART}){{3,}})"
_RANDOM = r"(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])(?:[a-z0-9+/]{12,}|[\w-]{40,})=*(?![\w.:/+-])"
"""Value of any key that is no word, id, path or address."""
_IS = r"\\?[\"']?\s*[:=]\s*"
_NO_PASSWORDS = (
    r"(?:an?|the|not|no|now|too|so|in|on|at|by|for|to|be|being|only|still|already|missing|empty|blank|null|none|unset"
    r"|set|reset|wrong|incorrect|invalid|bad|weak|strong|short|long|valid|correct|unknown|optional|out|safe|\w+ed)\b"
)
_NAMES = (
    *(f"{word}{mark}key" for word in ("api", "access", "account", "private") for mark in ("", " ", "_", "-")),
    *("secret", "token", "passw", "pwd", "credential"),
)
_NAMED_VALUES = tuple(
    (hints, re.compile(f"(?P<name>{name}){value}", re.IGNORECASE))
    for hints, name, value in (
        (
            ("authorization",),
            r"\bauthorization[\"']?:\s*[\"']?",
            rf"{_NEW}(?!\w+ +\[redacted\])(?:digest [^\r\n]+|(?:[a-z]+ +)?[^\s\"']+)",
        ),
        (("cookie",), r"\bcookie[\"']?:\s*[\"']?", rf"{_NEW}[^\"'\r\n]+"),
        # User and password as for curl; not the numbers of a user and a group, nor a URL.
        (("-u",), r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]?", r"(?:\"[^\":\n]*:[^\"\n]+\"|'[^':\n]*:[^'\n]+')"),
        (("-u",), r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]?", r"(?!\d+:\d+\b)[^\s\"':]{0,256}:(?!//)[^\s\"']+"),
        # Not the ports of a container.
        (
            ("mysql", "mariadb"),
            r"\b(?:mysql|mariadb)[\w-]{0,9} [^\n|;&]{0,200}?(?<=\s)(?-i:-p)",
            rf"(?![\d.:]{{1,40}}(?!\S)){_VALUE}",
        ),
        (("sshpass",), r"\bsshpass +(?-i:-p) ?", _VALUE),
        (("sig=", "signature="), r"(?:[?&]sig|X-Amz-Signature)=", r"[\w%+/=.~-]{16,}"),
        (_NAMES, rf"{_NAMED}[\w-]{{0,40}}(?:{_IS}|[\"']?\s+(?=[\"']))|(?<![\w-])--?[\w-]{{0,40}}{_NAMED}[= ]", _VALUE),
        (
            (*_NAMES, "passp", "passc", "pin "),
            rf"\b(?:{_NAMED}|passphrase|passcode|pin) (?:is|was|will be):? +",
            rf"(?!{_NO_PASSWORDS}){_VALUE}",
        ),
        (("_key",), rf"(?-i:_KEY){_IS}", _VALUE),
        (("key",), rf"(?:(?<![a-z])key|(?-i:Key)){_IS}\\?[\"']?", _RANDOM),
    )
)
_PATTERNS = (*_CREDENTIALS, *_NAMED_VALUES)
_HINTS = frozenset(hint for hints, _ in _PATTERNS for hint in hints)
_KINDS = (
    "private key", "issued key", "issued key", "cloud key", "JSON Web Token", "bearer token", "web hook",
    "URL password", "header", "cookie", *["login"] * 4, *["named value"] * 5,
)  # fmt: skip


def names_secret(argument: str) -> bool:
    """True if the argument of a command that follows is a secret: `--password`."""
    return re.fullmatch(rf"--?[\w-]{{0,40}}{_NAMED}", argument, re.IGNORECASE) is not None


def redacted(text: str) -> tuple[str, list[str]]:
    """Replace texts that look like credentials; return the text and the kind of each."""
    hinted, kinds = set(filter(text.lower().__contains__, _HINTS)), []
    for kind, (hints, pattern) in zip(_KINDS, _PATTERNS, strict=True) if hinted else ():
        if not hinted.isdisjoint(hints):
            text, found = pattern.subn(rf"\g<name>{REDACTED}" if pattern.groupindex else REDACTED, text)
            kinds += [kind] * found
    return text, kinds
