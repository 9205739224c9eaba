"""Detect breaking changes: declared by their author, a dropped version, or the words of a documented change."""

import re

from cli.release_notes.analysis.message import is_nothing

_PLATFORM = (
    r"(?:c?python|pypy|node(?:\.?js)?|ruby|php|java|jdk|go(?:lang)?|rust|\.net|swift|kotlin|scala|elixir|postgres\w*|mysql"
    r"|sqlite|django|rails|react|vue|angular|typescript|windows|macos|ubuntu|debian|ios|android|openssl)"
)
_FILLERS = r"(?:\W+(?:official|the|all|support|supporting|for|of|old|eol|compat\w*|with|versions?)\b){0,6}\W+"
_DROPPED = re.compile(
    rf"\b(?:drop(?:s|ped|ping)?|remov(?:e|es|ed|ing)|ends?|stop(?:s|ped)? supporting|no longer supports?){_FILLERS}"
    rf"(?:{_PLATFORM}\W*(?:versions? )?(?:v?\d|<|≤|below|older)|end[- ]of[- ]life {_PLATFORM}|v?[23]\.\d\d?\b(?!\.\d))"
    rf"|\b(?:drop|remove)\w* end[- ]of[- ]life \w+ versions|\b{_PLATFORM} v?\d[\w.]*\b.{{0,30}} no longer supported",
    re.I,
)
_REQUIRES = re.compile(
    rf"^(?:now )?requires?d?\b\W+(?:at least )?{_PLATFORM}\W*(?:version )?(?:>=|≥|v?\d)|\bnow requires? {_PLATFORM} \d"
    r"|^(?:bump|rais|updat|increas|set|upgrad|mov)\w* (?:the )?(?:(?:crate'?s? )?msrv\b|minimum (?:supported |required "
    rf")?{_PLATFORM})|\bminimum (?:supported |required )?{_PLATFORM}(?: version)? (?:is|to)\b",
    re.I,
)
_OF_MAKERS = re.compile(
    r"\b(?:CI|tox|docs?|in `[^`]+`|shims?|workarounds?|hacks?|leftovers?|classifiers?|checks?|syntax|jobs?|images?"
    r"|tests?|builds?|compat\w* (?:code|layers?|imports?))\b",
    re.I,
)
_REMOVES = re.compile(r"^(?:this )?(?:remov(?:e|es|ed)|drop(?:s|ped)?|delet(?:e|es|ed))(?=\s)", re.I)
_GONE = re.compile(r"\b(?:has|have|is|are|was|were) (?:now |also )?(?:been )?(?:removed|renamed|dropped)\b", re.I)
_RENAMES = re.compile(r"^renam(?:e|es|ed)\b.*\bto\b", re.I)
_REFUSES = re.compile(r"\bnow (?:requires?|refuses?|rejects?)\b|\bno longer (?:on|enabled|included) by default\b", re.I)
_DEPRECATED = re.compile(
    r"^remov(?:e|es|ed) (?:the |all |previously |long )*deprecated\b(?! (?:usage|uses?|calls?|warnings?)\b)"
    r"|\bdeprecation warnings?\b.{0,20}\b(?:in)?to (?:an )?errors?\b",
    re.I,
)
_CODE = re.compile(
    r"`[^`]+`|\w+\([^)]*\)|(?:^|\s)-{1,2}[a-z][\w-]+|\b[A-Za-z]+_\w+\b|\b[A-Z][a-z]+[A-Z]\w*|\b[a-z_]\w+\.[a-z]\w+\b"
)
_THING = re.compile(
    r"\b(?:deprecated|features?|options?|param(?:eter)?s?|arguments?|commands?|methods?|class(?:es)?|functions?|endpoints?"
    r"|support|flags?|settings?|api|modules?|plugins?|attribute|property|routes?|default|environment variables?)\b",
    re.I,
)
_HARMLESS = re.compile(
    r"\b(?:unused|unneeded|unnecessary|redundant|duplicat\w+|dead|obsolete|leftover|stale|workarounds?|hacks?|warnings?"
    r"|comments?|logging|imports?|dependenc(?:y|ies)|links?|temporary|changelog|readme|docs?|documentation|internal"
    r"|private|optimi[sz]ations?|no longer (?:needed|used|exist\w*|necessary|required)|us(?:ag)?es? of|calls? (?:to|of)"
    r"|checks?|examples?|tests?|limit(?:ation)?s?|restrictions?)\b|^\w+ (?:the )?`?_{1,2}[a-z]\w*|\.__\w+__",
    re.I,
)
LONGEST_NOTE = 2_000
_INCOMPATIBLE = r"(?:backwards?[\s-]incompatib\w+|not backwards?[\s-]compatible)(?: changes?)?"
_CHANGE = rf"(?:breaking[\s-](?:api[\s-])?changes?|{_INCOMPATIBLE})"
_MARK = re.compile(
    rf"^[ \t]*(?:#{{1,6}} +|[-*+] +\[(?P<ticked>[xX])\] +)?[*_]*{_CHANGE}[*_]*[ \t]*(?::[*_]*[ \t]*|$)", re.I | re.M
)
_UNTICKED = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[[ \t]*\][^\n]*$", re.M)
_SENTENCE = re.compile(rf"\b(?:this|it|which)(?:'s| is| was| introduces) (?:an? )?(?:\w+ )?{_CHANGE}\b", re.I)
_SUBJECT = re.compile(rf"[(\[] *(?:breaking|{_CHANGE}) *[)\]]|^{_CHANGE}(?=:| (?:in|to|of|for) )", re.I)
_BELOW = re.compile(r"(?:[ \t]*\n)+(?:(?!#{1,6} |\*\*[^*\n]+\*\*:?[ \t]*$)[^\n]*\n?)+", re.M)
_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*\n?)+")


def is_declared(subject: str, body: str) -> bool:
    return bool(_SUBJECT.search(subject)) or _claim_in(body) is not None


def note_in(body: str) -> str | None:
    note = (_claim_in(body) or "")[:LONGEST_NOTE].strip()
    return None if is_nothing(note) else note


def _claim_in(body: str) -> str | None:
    body = _UNTICKED.sub("", re.sub(r"<!--.*?-->", "", body[:20_000], flags=re.S))
    for mark in _MARK.finditer(body):
        if mark["ticked"]:
            return ""
        rest = body[mark.end() :]
        found = _BELOW.match(rest) if rest.startswith("\n") else _PARAGRAPH.match(rest)
        note = found[0].strip() if found else ""
        if note and not is_nothing(note):
            return note
    return None


def drops_version(text: str) -> bool:
    return bool(_DROPPED.search(text) or _REQUIRES.search(text)) and not _OF_MAKERS.search(text)


def removes_deprecated(text: str) -> bool:
    found = _DEPRECATED.search(text)
    return found is not None and (found.start() > 0 or not _HARMLESS.search(text))


def says_so(text: str, body: str = "") -> bool:
    """Return whether a text says that something public is removed or breaks; counts only for documented things."""
    if _SENTENCE.search(text) or _SENTENCE.search(body[:20_000]):
        return True
    if _RENAMES.match(text):
        return bool(_CODE.search(text)) and not _HARMLESS.search(text)
    if _REFUSES.search(text):
        return True
    # Gone on a condition only, it is still there.
    if re.search(r"\b(?:if|when|unless|while|where)\b", text):
        return False
    removes = _REMOVES.match(text)
    named = re.split(r"\b(?:from|in|of|by|with)\b", text)[0] if removes else text
    is_named = bool(_CODE.search(named) or _THING.search(named))
    return is_named and bool(removes or _GONE.search(text)) and not _HARMLESS.search(text)
