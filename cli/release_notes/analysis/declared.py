"""Detect breaking changes that their author declares."""

import re

from cli.release_notes.analysis.message import Message
from cli.release_notes.analysis.trailers import is_nothing

_UNTICKED = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[[ \t]*\][^\n]*$", re.M)
_ASKS = (":", "?", "(", "=", "|", "-", "\n", "*", "_")
_ENDS = ("", ".", ":", "!", "?", ")", "-", "*", "#", ">", "`", "x", "X", "]", ",", ";")
_MENTION = (
    r"(?:breaking[\s-](?:api[\s-])?changes?\b"
    r"|(?:not backwards?[\s-]compatible|backwards?[\s-]incompatib\w+)(?:[\s-]changes?\b)?"
    r"|incompatible (?:with (?:previous|earlier|older|existing)|change))"
)
_DEGREE = r"(?:(?:an?|the|technically|slight\w*|small|minor|major|one|two|three|several)\s+)*"
_BREAKS = r"break(?:s|ing)? (?:the )?backwards?[ -]compatib\w+"
_SAID = re.compile(rf"\b(?:{_MENTION}|{_BREAKS})", re.I)
_UNSAID = re.compile(
    r"\b(?:no|non|not an?|not|without|avoid(?:s|ing)?|prevent(?:s|ing)?|isn't an?|any|planned|upcoming|future"
    r"|every|each|all|potential(?:ly)?|upstream|their|into|about|for|of|on|from|to|which|whether|if"
    r"|(?:detect|list|document|explain|describ|mention|discuss|announc|mark|label|warn|group|show|report|test|fix|revert|undo)(?:e?s|ed|ing|e)?)[\s-]+"
    r"(?:(?:the|this|that|any|an?|some|previous|earlier|last)[\s-]+){0,2}(?:(?!is\b|are\b|was\b)\w+ )?$",
    re.I,
)
_ANSWERED = re.compile(r"^\W*(?:\(?yes ?/ ?no\)?\W*)?(?P<answer>[^\n]{0,200})")
_CLAIMED = re.compile(
    r"(?:^|[(\[:;,.!?\u2013\u2014]|\b(?:is|are|was|were|be|being|been|as|introduc\w+|contain\w*|includ\w*|caus\w*"
    r"|ma(?:kes?|de|king)|mean\w*|ha[sd]|have|brings?|with|consider\w*|constitutes?)\b|\w['\u2019]s\b"
    r"|\b(?:the|the following|one|two|three|several|this|these|technically|slight\w*|small|minor|major)\b)"
    rf"\W*{_DEGREE}\W*$",
    re.I,
)
_ALONE = re.compile(r"^\W*(?:[(\[:\u2013\u2014-]|$)|^ (?:in|to|of|for|as|since|that|which|because)\b", re.I)
_NAMED_SO = re.compile(
    r"^[ -](?:sections?|labels?|footers?|markers?|trailers?|headings?|entr(?:y|ies)|lists?|detect\w+|checks?)\b", re.I
)
_SUBJECT = re.compile(
    rf"^\W*{_DEGREE}{_MENTION}(?=\W*$|\s*[:(\[\u2013\u2014]|\s+-+\s|[.,;!]|\s+(?:in|to|of|for)\b)"
    rf"|[(\[]\s*{_DEGREE}(?:{_MENTION}|breaking)\s*[)\]]"
    rf"|(?:[:;,.!]|\s[-\u2013\u2014]+)\s+{_DEGREE}{_MENTION}\W*$"
    rf"|(?:^|[,;:.(\u2013\u2014-]\s*|\band )(?:this|that|it|which)(?:['\u2019]s| is| was| means| makes it| introduces"
    rf"| contains| brings| causes) {_DEGREE}{_MENTION}"
    rf"|^(?:introduc|caus)\w+ {_DEGREE}{_MENTION}(?=\W*$|\s+(?:in|to|of|for)\b)"
    rf"|^ma(?:kes?|de) .{{1,200}}\bbackwards?[ -]incompatible\W*$"
    rf"|(?:^|[,;:(\u2013\u2014-]\s*|\band ){_BREAKS}",
    re.I,
)
_IS_MARK = re.compile(r"[ \t*_`\])]*(?:[:(\u2013\u2014-]|$)", re.M)
_BELOW = re.compile(r"(?:[ \t]*\n)+(?:(?!#{1,6} |\*\*[^*\n]+\*\*:?[ \t]*$)[^\n]*\n?)+", re.M)
_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*\n?)+")
_SENTENCES = re.compile(r"(?<=[.!])\s+(?=[A-Z`(])")
_YES = re.compile(r"^yes\b[\s,.:;!\u2013\u2014-]*", re.I)
LONGEST_NOTE = 2_000
_TELLING = 8
_STATES = re.compile(rf"\b(?:is|are) {_DEGREE}{_MENTION}\W*$", re.I)
_ABOUT = re.compile(r"\b(?:what|when(?:ever)?|whether|why|how|if|where|who|that|which)\b", re.I)


def is_declared(message: Message, body: str) -> bool:
    """Return whether the author calls it breaking, in a mark or in words; unticked boxes do not count."""
    if message.marked or _is_claimed_by(message.text):
        return True
    return _claim_in(_considered(body)) is not None


def note_in(body: str) -> str | None:
    """Return a body's note about the breaking change, if any."""
    body = _considered(body)
    claim = _claim_in(body)
    if claim is None:
        return None
    start = body.rfind("\n", 0, claim.start()) + 1
    if not re.search(r"\w", body[start : claim.start()]) and _IS_MARK.match(body[claim.end() :]):
        # A heading or a mark: what follows in its line, else what is below it.
        rest = body[claim.end() :].lstrip(" *_:)]\u2013\u2014-")
        found = _BELOW.match(rest) if rest.startswith("\n") else _PARAGRAPH.match(rest)
        note = found[0].strip() if found else ""
    else:
        note = _sentence_at(body, claim)
    note = _YES.sub("", note)[:LONGEST_NOTE]
    return note if re.search(r"\w", note) and not is_nothing(note) else None


def _sentence_at(body: str, claim: re.Match[str]) -> str:
    first = body.rfind("\n\n", 0, claim.start()) + 1
    end = body.find("\n\n", claim.end())
    paragraph = " ".join(body[first : end if end > 0 else None].split())
    sentences = _SENTENCES.split(paragraph)
    at = next((number for number, each in enumerate(sentences) if claim[0].split()[0] in each), 0)
    if len(sentences[at].split()) >= _TELLING:
        return sentences[at]
    return sentences[at + 1] if at + 1 < len(sentences) else sentences[at - 1] if at else ""


def _considered(body: str) -> str:
    return _UNTICKED.sub("", body[:20_000])


def _claim_in(body: str) -> re.Match[str] | None:
    return next((match for match in _SAID.finditer(body) if _claims(body, match)), None)


def _is_claimed_by(subject: str) -> bool:
    found = _STATES.search(subject)
    if found is not None and not _ABOUT.search(subject[: found.start()]):
        return True
    found = _SUBJECT.search(subject)
    return found is not None and not _UNSAID.search(subject[: found.start()])


def _claims(text: str, match: re.Match[str]) -> bool:
    before, after = text[max(0, match.start() - 60) : match.start()], text[match.end() : match.end() + 200]
    line = re.sub(r"\[[xX]\]", "", before.rpartition("\n")[2])
    answer = _ANSWERED.match(after)
    asked = after.lstrip(" *_`").startswith("?")
    if asked and not (answer and re.match(r"yes\b", answer["answer"], re.I)):
        return False
    if answer and answer["answer"] and after.lstrip(" ")[:1] in _ASKS and is_nothing(answer["answer"]):
        return False
    if (after.startswith(":") and not re.search(r"\w", after)) or _NAMED_SO.match(after):
        return False
    if not re.search(r"\w", line) and not line.rstrip().endswith(('"', "'")) and before.strip("\n \t")[-1:] in _ENDS:
        return bool(_ALONE.match(after.partition("\n")[0]))
    before = " ".join(before.split()) + (" " if before[-1:].isspace() else "")
    if _UNSAID.search(before):
        return False
    return match[0].lower().startswith("breaks ") or bool(_CLAIMED.search(before))
