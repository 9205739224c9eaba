"""Findings: spans of notes worth keeping, and flags of what is sensitive in them."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from stores.records import JsonObject

Kind = Literal["decision", "task", "plan", "idea", "claim", "procedure", "artifact", "session"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Sensitivity = Literal["credential", "key", "pii", "private_key", "secret", "token"]
SENSITIVITIES: tuple[Sensitivity, ...] = get_args(Sensitivity)

TITLE_LIMIT = 120

LABEL_CONFIDENCE: dict[Kind, float] = {
    "decision": 0.86, "plan": 0.84, "task": 0.82, "artifact": 0.82, "idea": 0.82, "claim": 0.78, "procedure": 0.76,
    "session": 0.60,
}  # fmt: skip
CUE_CONFIDENCE: dict[Kind, float] = {**LABEL_CONFIDENCE, "plan": 0.80, "idea": 0.72}


@dataclass(frozen=True, slots=True)
class Finding:
    """`content` is `notes[start:end]` to the letter; `count` is the number of equal spans.

    `confidence` estimates the share of such findings that a person would label alike.
    """

    kind: Kind
    title: str
    content: str
    start: int
    end: int
    reason: str
    confidence: float
    count: int = 1

    @property
    def sensitivity_flags(self) -> tuple[Sensitivity, ...]:
        return sensitivity_flags(self.content)

    @property
    def tags(self) -> tuple[str, ...]:
        return "reflection", self.kind

    @property
    def place(self) -> JsonObject:
        return {"span": {"start": self.start, "end": self.end}}


_NO_VALUES = (
    r"(?!(?i:reset|stored|required|optional|changed|sent|never|not|the|too|only|still|being|hashed|none|null|true|false)"
    r"\b)"
)


def _named(names: str) -> str:
    name = rf"(?i:(?<![^\W_])(?:{names})(?![^\W_]))[\"']?\s{{0,3}}"
    return (
        rf"{name}(?:[:=]\s{{0,3}}[\"']?{_NO_VALUES}(?=\S{{0,60}}[^\W_])[^\s\"'<,;]{{5,200}}"
        rf"|(?:is|was)\s{{1,3}}[\"'`]?(?=\S{{0,60}}[\d!$%^&*])[^\s\"'<,;]{{5,200}})"
    )


_LOGIN = r"\b[a-z][a-z0-9+.-]{1,15}://[^\s:/@]{1,80}:[^\s:/@]{1,120}@[\w.-]+"
_PATTERNS: tuple[tuple[Sensitivity, str], ...] = (
    ("private_key", r"-----BEGIN (?:[A-Z]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|\bPuTTY-User-Key-File-\d"),
    ("key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}"),
    ("key", r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)[-_][\w-]{16,200}|\bsk-[A-Za-z0-9]{32,200}"),
    ("key", _named("(?:api|access|encryption|signing|deploy|account)[ _-]?key")),
    ("token", r"\bgh[pousr]_[A-Za-z0-9]{20,255}|\bgithub_pat_\w{22,255}|\bglpat-[\w-]{20,255}|\bnpm_[A-Za-z0-9]{36}"),
    ("token", r"\bxox[abeoprs]-[\w-]{10,255}|\bhf_[A-Za-z0-9]{30,60}"),
    ("token", r"\beyJ[\w-]{8,4000}\.eyJ[\w-]{8,4000}(?:\.[\w-]{0,4000})?"),
    ("token", r"(?i:\b(?:bearer|authorization:\s{0,3}\w{1,12})\s{1,3}[\w.~+/=-]{16,4000})"),
    ("token", _named("(?:(?:access|refresh|auth|session|bot|id)[ _-]?)?token")),
    ("secret", _named("(?:client[ _-]?)?secret(?:[ _-]?(?:access[ _-]?)?key)?")),
    ("secret", r"\bwhsec_[\w+/=-]{16,100}|(?i:hooks\.slack\.com/services/)\w{1,40}/\w{1,40}/\w{1,60}"),
    ("credential", _named("password|passwd|passphrase|passwort|pwd|pw|pin code")),
    ("credential", _LOGIN),
    ("pii", r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}\b(?!:)"),
    ("pii", r"(?<![\w+])\+\d{1,3}[ ./-]?(?:\(?\d{1,5}\)?[ ./-]?){2,5}\d{2,6}\b"),
    ("pii", r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"),
)
_COMPILED = tuple((flag, re.compile(pattern)) for flag, pattern in _PATTERNS)
_WORTH_A_LOOK = re.compile(r"[\d@]|-----|AKIA|ASIA|AIza|eyJ|(?i:pass|pwd|pw|key|token|secret|pin|bearer|authori|_|://)")
"""Prefilter: no pattern matches without one of these."""
_HOST_OF_LOGIN = re.compile(_LOGIN)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
_CARD = re.compile(r"(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d.-])")


def sensitivity_flags(text: str) -> tuple[Sensitivity, ...]:
    if not _WORTH_A_LOOK.search(text):
        return ()
    people = _HOST_OF_LOGIN.sub(" ", text)
    found: set[Sensitivity] = {flag for flag, pattern in _COMPILED if pattern.search(people if flag == "pii" else text)}
    if any(_is_iban(match[0]) for match in _IBAN.finditer(text)) or any(_is_card(m[0]) for m in _CARD.finditer(text)):
        found.add("pii")
    return tuple(flag for flag in SENSITIVITIES if flag in found)


def _is_iban(text: str) -> bool:
    packed = text.replace(" ", "")
    turned = packed[4:] + packed[:4]
    return 15 <= len(packed) <= 34 and int("".join(str(int(c, 36)) for c in turned)) % 97 == 1


def _is_card(text: str) -> bool:
    digits = [int(c) for c in text if c.isdigit()]
    doubled = [d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(reversed(digits))]
    return text[0] in "3456" and sum(doubled) % 10 == 0 and len(set(digits)) > 1
