"""Detect breaking changes: declared by their author, or by the words of a subject."""

import re

from cli.release_notes.analysis.message import Message
from cli.release_notes.analysis.trailers import is_nothing
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
    r"|api|module|plugin|attribute|property|field|alias|shim|mode|backend|driver|route|env(?:ironment)? var\w*)\b"
)
_CODE = re.compile(r"`[^`]+`|\w+\(|\b[A-Za-z]+_\w+\b|\b[A-Z][a-z]+[A-Z]\w*|(?:^|\s)--[a-z]")
_BEHAVES = re.compile(r"\bnow (?:requires?|refuses?|rejects?|raises?)\b|^raises? \S+ instead of\b|\bby default$", re.I)
_HARMLESS = re.compile(
    r"\b(?:unused|unneeded|unnecessary|redundant|duplicate[ds]?|dead|obsolete|leftover|stale|workaround|hack|warnings?"
    r"|comments?|todo|logging|log (?:messages?|lines?)|debug|imports?|dependenc(?:y|ies)|requirements?|boilerplate"
    r"|notes?|links?|badges?|jobs?|steps?|fixtures?|classifiers?|temporary|changelog|readme|docs?|documentation)\b"
    r"|`?\b_{1,2}[a-z]\w*|\.__\w+__",
    re.I,
)
LONGEST_NOTE = 2_000
_TELLING = 8
_UNTICKED = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[[ \t]*\][^\n]*$", re.M)
_CHANGE = (
    r"(?:breaking[\s-](?:api[\s-])?changes?"
    r"|(?:backwards?[\s-]incompatib\w+|not backwards?[\s-]compatible)(?:\schanges?)?)"
)
_MARK = re.compile(
    rf"^[ \t]*(?:#{{1,6}} +|[-*+] +\[(?P<ticked>[xX])\] +)?[*_]*{_CHANGE}[*_]*[ \t]*(?::[*_]*[ \t]*|$)", re.I | re.M
)
_SENTENCE = re.compile(
    r"\b(?:this|it|which|that)(?:['\u2019]s| is| was| introduces| contains)\s(?:an?\s|technically\s|slightly\s)*"
    rf"{_CHANGE}\b|\b(?:this|it) breaks (?:the )?backwards?[ -]compatib",
    re.I,
)
_SUBJECT = re.compile(
    rf"[(\[] *(?:breaking|{_CHANGE}) *[)\]]|(?:,| -) (?:an? )?{_CHANGE}$|^{_CHANGE}(?=:| (?:in|to|of|for) )", re.I
)
_BELOW = re.compile(r"(?:[ \t]*\n)+(?:(?!#{1,6} |\*\*[^*\n]+\*\*:?[ \t]*$)[^\n]*\n?)+", re.M)
_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*\n?)+")
_SENTENCES = re.compile(r"(?<=[.!])\s+(?=[A-Z`(])")
_YES = re.compile(r"^yes\b[\s,.:;!\u2013\u2014-]*", re.I)


def is_declared(message: Message, body: str) -> bool:
    """Return whether the author calls it breaking, in a mark or in words; unticked boxes do not count."""
    subject = message.text
    return message.marked or bool(_SUBJECT.search(subject) or _SENTENCE.search(subject)) or _claim_in(body) is not None


def note_in(body: str) -> str | None:
    """Return a body's note about the breaking change, if any."""
    note = _YES.sub("", _claim_in(body) or "")[:LONGEST_NOTE]
    return note if re.search(r"\w", note) and not is_nothing(note) else None


def _claim_in(body: str) -> str | None:
    body = _UNTICKED.sub("", body[:20_000])
    for mark in _MARK.finditer(body):
        if mark["ticked"]:
            return ""
        rest = body[mark.end() :]
        found = _BELOW.match(rest) if rest.startswith("\n") else _PARAGRAPH.match(rest)
        note = found[0].strip() if found else ""
        if note and not is_nothing(note):
            return note
    claim = _SENTENCE.search(body)
    return _sentence_at(body, claim) if claim else None


def _sentence_at(body: str, claim: re.Match[str]) -> str:
    first = body.rfind("\n\n", 0, claim.start()) + 1
    end = body.find("\n\n", claim.end())
    sentences = _SENTENCES.split(" ".join(body[first : end if end > 0 else None].split()))
    at = next((number for number, each in enumerate(sentences) if " ".join(claim[0].split()) in each), 0)
    if len(sentences[at].split()) >= _TELLING:
        return sentences[at]
    return sentences[at + 1] if at + 1 < len(sentences) else sentences[at - 1] if at else ""


def drops_support(text: str) -> bool:
    """Return whether a subject ends support for a version of a language or a system."""
    return bool(_DROPPED.search(text) or _REQUIRES.search(text))


def sounds_breaking(message: Message) -> bool:
    """Return whether a subject removes, renames or refuses. Only for documented changes of published source."""
    text = message.text
    if message.conventional and message.kind in ("documentation", "internal", "dependency", "fix"):
        return False
    if _BEHAVES.search(text):
        return not sounds_internal(text)
    named = _CODE.search(text) if _RENAMES.match(text) else _THING.search(text)
    return takes_away(text) and bool(named) and not is_harmless(text) and not sounds_internal(text)


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
