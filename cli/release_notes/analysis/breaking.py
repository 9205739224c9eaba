"""Detect breaking changes by the words of a subject."""

import re

from cli.release_notes.analysis.message import Message
from cli.release_notes.analysis.wording import sounds_internal

_LANGUAGES = (
    r"(?:c?python|pypy|node(?:\.?js)?|ruby|php|java|jdk|go|golang|rust|\.net|swift|kotlin|scala|elixir|erlang|perl|postgres\w*"
    r"|mysql|sqlite|mariadb|django|rails|react|vue|angular|typescript|windows|macos|ubuntu|debian|ios|android|openssl)"
)
_DROPPED = re.compile(
    rf"\b(?:drop(?:s|ped|ping)?|remov(?:e|es|ed|ing)|end(?:s|ed)?|stop(?:s|ped)? supporting|no longer supports?)\b"
    rf"(?:\W+(?:official|the|all|support|for|of|old|eol|end-of-life|compat\w*|with)\b){{0,6}}\W+"
    rf"(?:{_LANGUAGES}\s*(?:v?\d|support|<|≤|below)|v?[23]\.\d{{1,2}}\b(?!\.\d+ (?:test|ci)))",
    re.I,
)
_REQUIRES = re.compile(
    rf"\b(?:now )?requires?d?\b\W+(?:at least )?{_LANGUAGES}\W*(?:>=|≥|v?\d)"
    rf"|\bminimum (?:supported )?{_LANGUAGES} version"
    rf"|\bbump(?:s|ed)? (?:the )?(?:minimum|msrv)\b|\b{_LANGUAGES} ?>= ?\d",
    re.I,
)
_REMOVES = re.compile(
    r"^(?:remov(?:e|es|ed|ing)|drop(?:s|ped|ping)?|delet(?:e|es|ed|ing)|get(?:ting)? rid of)(?=\s)", re.I
)
_RENAMES = re.compile(
    r"^renam(?:e|es|ed|ing)\b(?=.*\bto\b)|^replac(?:e|es|ed|ing)\b(?=.*\b(?:exception|class|function|method|parameter"
    r"|argument|option|flag|command|setting|endpoint|field)\b(?=.*\bwith\b))",
    re.I,
)
_THING = re.compile(
    r"`[^`]+`|\w+\([^)]*\)|(?:^|\s)-{1,2}[a-z][\w-]+|\b[a-z]+_[a-z_]+\b|\b[A-Z][a-z]+[A-Z]\w*|\b\w+\.(?:py|\w+\(\))"
    r"|\b(?:deprecated|option|parameter|param|argument|command|method|class|function|endpoint|feature|support|flag|setting"
    r"|api|module|plugin|attribute|property|field|alias|shim|mode|backend|driver|route|env(?:ironment)? var\w*)\b",
)
_MEANS = re.compile(r"\s(?:with(?! (?:no|a default)\b)|via|using|through|by means of|when|if)\s", re.I)
_CODE = re.compile(r"`[^`]+`|\w+\(|\b[A-Za-z]+_\w+\b|\b[A-Z][a-z]+[A-Z]\w*|(?:^|\s)--[a-z]")
_HARMLESS = re.compile(
    r"\b(?:unused|unneeded|unnecessary|redundant|duplicate[ds]?|dead|obsolete (?:code|comment)|leftover|stale"
    r"|extra|pretend"
    r"|workaround|hack|warnings?|filters?|comments?|todo|logging|log (?:messages?|lines?)|debug|print"
    r"|imports?\b(?! (?:proxy|path))"
    r"|dependenc(?:y|ies)|requirement|sniffing|boilerplate|notes?|links?|badges?|sponsor|section|logo|config|configuration"
    r"|jobs?|steps?|fixture|prematurely|trove|classifiers?|accidental\w*|temporary|old (?:test|doc)|changelog"
    r"|readme|docs?\b"
    r"|documentation|limit(?:ation)?s?|restriction|blank|empty|trailing|variables?\b(?! support)|branching|pii"
    r"|import-time)\b"
    r"|`?\b_{1,2}[a-z]\w*|\.__\w+__",
    re.I,
)
_REFUSES = re.compile(
    r"\bnow (?:requires?\b(?! (?:only|fewer|less|no)\b)|refuses?|rejects?|forbids?"
    r"|disallows?|errors?\b)"
    r"|\S refuses? to\b|\b(?:is|are) now (?:required|mandatory|an error|keyword-only|positional-only)\b"
    r"|^require(?:s|d)? (?:an? |the )?explicit\b",
    re.I,
)
_REFUSAL = re.compile(r"^(?:reject|refuse|disallow|forbid|prohibit)(?:s|ed|ing)?\b", re.I)
_WORKED = re.compile(
    r"\bnow (?:\w+ly )?(?:raises?|fails?|errors?|rejects?|refuses?|requires?|exits?|is rejected|is refused|gets?)\b"
    r"|\b(?:no longer|previously|formerly|until now|used to|before,? (?:it|they|this)|appeared to work)\b",
    re.I,
)
_OTHER_RESULT = re.compile(
    r"^raise(?:s|d)? \S+ (?:instead of|rather than) [A-Z]\w+|\bonly (?:returns?|accepts?|supports?|works?)\b"
    r"|\bnow (?:\w+ly )?(?:executes?|runs?|returns?|happens?|evaluates?)\b.*\b(?:immediately|eagerly|lazily"
    r"|instead of)\b"
    r"|^return(?:s|ed)? \S+ instead of\b|^use (?:\w+ ){1,3}not (?:\w+ ?){1,3}(?:\b(?:as|for|to|in)\b|$)"
    r"|^(?:change[sd]?|switch(?:ed)?|flip(?:ped)?) (?:the )?default\b|\b(?:on|off|enabled|disabled|types?"
    r"|now) by default$"
    r"|^default to \S+ instead of\b",
    re.I,
)
_NO_LONGER = re.compile(r"\bno longer (?!than\b)(?P<verb>\w+)", re.I)
_BESIDE = re.compile(
    r"\b(?:when(?:ever)?|if|where|who(?:se|m)?|that|which|whether|why|because)\b[^,;]*$|\b(?:was|were)\s+$", re.I
)
_BAD = re.compile(
    r"^(?:drop|mask|duplicat|crash|fail|los|leak|corrupt|hang|break|brok|rais|ignor|overwrit|rewrit|clobber|swallow|block|deadlock"
    r"|print|throw|error|emit|warn|leav|caus|forget|miss|need|requir|mutat|truncat|depend|stall|spin|wast|hid|report|flicker|skip)",
    re.I,
)


def drops_support(text: str) -> bool:
    """Return whether a subject ends support for a version of a language or a system."""
    return bool(_DROPPED.search(text) or _REQUIRES.search(text))


def sounds_breaking(message: Message) -> bool:
    """Return whether a subject implies that something stops working. Only for changes of published source."""
    text = message.text
    if message.kind in ("documentation", "internal", "dependency") and message.conventional:
        return False
    if takes_away(text):
        return not (message.conventional and message.kind == "fix") and _takes_away(text)
    if message.kind in ("fix", "security", "deprecation") and message.conventional:
        return False
    if _REFUSES.search(text) or _OTHER_RESULT.search(text) or _refuses_what_worked(message):
        return not sounds_internal(text)
    gone = _NO_LONGER.search(text)
    if gone is None or _BAD.match(gone["verb"]) or _BESIDE.search(text[: gone.start()]):
        return False
    return not sounds_internal(text)


def _refuses_what_worked(message: Message) -> bool:
    if not _REFUSAL.match(message.text):
        return False
    return bool(_CODE.search(message.text) or _WORKED.search(message.details))


def _takes_away(text: str) -> bool:
    # What it is done with is still there.
    text = _MEANS.split(text, maxsplit=1)[0]
    named = _CODE.search(text) if _RENAMES.match(text) else _THING.search(text)
    return bool(named) and not _HARMLESS.search(text) and not sounds_internal(text)


def takes_away(text: str) -> bool:
    return bool(_REMOVES.match(text) or _RENAMES.match(text))


def is_harmless(text: str) -> bool:
    """Return whether only dead code, a workaround or a comment is removed."""
    return bool(_HARMLESS.search(text))


def names_in(text: str) -> tuple[str, ...]:
    found = re.findall(
        r"`([^`]{2,80})`|(--[a-z][\w-]+)|\b([A-Za-z_][\w.]*)\(|\b([a-z]+_[a-z_]+|[A-Z][a-z]+[A-Z]\w*)\b", text
    )
    names = (next(part for part in groups if part) for groups in found)
    return tuple(dict.fromkeys(name.strip("()").split("(")[0].rsplit(".", 1)[-1] for name in names if name.strip()))
