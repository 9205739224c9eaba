"""Words that announce a kind: of headings, of labels, of signals; and statements without their labels."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from tools.reflecting.reflection.finding import TITLE_LIMIT, Kind
from tools.text.sentences import word_set

IMPERATIVES = word_set(
    """
    adapt add adjust agree alert align allow analyse analyze annotate announce apply archive arrange ask assign
    attach audit automate avoid backport benchmark block book build bump call cancel change check choose clarify
    clean clear clone close collect compare compile configure confirm connect contact convert coordinate copy
    create cut define delete deploy deprecate describe design disable discuss do document download draft drop
    enable encrypt ensure escalate estimate evaluate execute expand export extend extract file fill find finish
    fix follow format generate get give go group handle help hide implement import improve inform install
    interview introduce investigate invite join keep label launch lead leave let limit link list load log look
    lower maintain make map mark measure merge migrate mirror mock monitor move notify open order organise
    organize pair pass patch pick pin ping plan point polish post prepare prevent print promote propose provide
    prune publish pull push put raise re-run reach rebuild record recruit redeploy reduce refactor refresh
    reject release reload remind remove rename repeat replace replay report request rerun reset resize resolve
    respond restart restore retire retrain retry return revert review revisit revoke rewrite roll rotate run
    save schedule seed select send separate set setup share ship shorten show sign simplify size sketch skip
    sort split start stop store stream submit summarise summarize support swap switch sync tag take talk tell
    test throttle tidy track translate try tune turn update upgrade upload use validate verify wait watch
    whitelist wire work wrap write
    """
)
VERBS_OF_PEOPLE = word_set(
    """
    arranges asks books buys clarifies contacts coordinates discusses drafts estimates interviews investigates orders
    organises organizes prepares presents collects updates hands brings creates recruits reminds
    reviews schedules sketches talks writes
    """
)

_PATTERNS: Mapping[str, str] = {
    "undecided": r"\bno (?:final |clear )?decisions?\b|\b(?:not|n't|never) (?:yet )?(?:really |finally )?"
    r"(?:been )?(?:decided?|agreed?|settled?)\b(?! (?:to|not to|that|on)\b)|\bundecided\b|\bto be decided\b|\btbd\b"
    r"|\b(?:is|are) still (?:open|unclear)\b|\bnot discussed\b|\bunclear\b|\bneed(?:s)? to decide\b"
    r"|\bdecide (?:whether|if)\b|\bhave(?:n't| not) (?:yet )?decided\b",
    "unknown": r"\b(?:i|we) (?:don't|do not|didn't) (?:yet )?know\b|\bno (?:clue|idea)\b"
    r"|\bnot sure (?:yet|why|what|how|if|whether)\b",
    "refuted": r"\b(?:thought|assumed|suspected|believed|tried|hoped)\b.*"
    r"\b(?:but|however|no (?:difference|change|luck|effect|help))\b|\b(?:same result|no luck|may also be)\b",
    "hedge": r"\b(?:probably|possibly|presumably|apparently|likely|seems?|seemed|suspect|i think|i guess|i believe"
    r"|i assume|not sure|may be|might be|could be|perhaps|maybe|supposedly|if i remember|afaik|iirc|hopefully)\b",
    "condition": r"\b(?:if|unless|whether|could|would|should|might|may|in case|before we|until we)\b",
    "reported_doubt": r"\b(?:wants?|wanted|asked|asks|wondered) (?:whether|if|why|what)\b",
}
_COMPILED = {name: re.compile(pattern, re.DOTALL) for name, pattern in _PATTERNS.items()}
_QUESTION = re.compile(r"\?[\"'”’»)\]*_\s!?.]*\Z")
_QUOTED = re.compile(r"\"[^\"\n]{2,240}\"|“[^“”\n]{2,240}”|«[^«»\n]{2,240}»|„[^„“”\n]{2,240}[“”]")
_READ = 800


def signals(masked: str) -> frozenset[str]:
    text = masked[:_READ]
    found = {name for name, pattern in _COMPILED.items() if pattern.search(text)}
    if _QUESTION.search(masked[-40:]):
        found.add("question")
    return frozenset(found)


def quotations(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _QUOTED.finditer(text) if len(match[0].split()) > 1]


Announced = Kind | Literal["mute"]
"""A kind, or `mute` for text that needs a cue of its own."""
Context = Announced | Literal["rejected"]
REJECTED: Context = "rejected"

HEADINGS: dict[Context, str] = {
    "decision": "decision|decisions|decided|agreed|agreement|agreements|resolution|resolutions|conclusion|"
    "conclusions|we agreed|we decided|what we decided|result of the vote|outcome of the vote|outcome|outcomes",
    "rejected": "rejected|not in scope|out of scope|non-goals|non-goal|not doing|declined|discarded|vetoed|won't do",
    "task": "action|actions|action item|action items|task|tasks|todo|todos|to do|to dos|to-do|to-dos|follow up|"
    "follow-up|follow ups|follow-ups|next actions|open tasks|remaining|remaining work|still to do|left to do|"
    "homework|checklist",
    "idea": "idea|ideas|brainstorm|brainstorming|try|to try|things to try|what to try|suggestion|suggestions|"
    "proposal|proposals|improvement ideas|wishlist|nice to have",
    "plan": "plan|plans|the plan|roadmap|next|next step|next steps|goal|goals|milestone|milestones|this week|"
    "next week|week plan|rollout|roll-out|today|tomorrow",
    "claim": "finding|findings|learning|learnings|lesson|lessons|lessons learned|what we learned|what we found|"
    "root cause|cause|causes|observation|observations|insight|insights|risk|risks|known issues|facts|gotchas|caveats|"
    "limitations",
    "procedure": "how to|howto|procedure|runbook|recipe|instructions|workaround|workarounds|steps to fix|solution|"
    "recovery|rollback",
    "artifact": "artifact|artifacts|deliverables|outputs|files changed|files created|created files|pull requests",
    "mute": "question|questions|open question|open questions|open points|unresolved|attendees|present|"
    "participants|agenda|went well|what went well|done|yesterday|status|impact|blockers|blocked|steps to reproduce|"
    "to reproduce|log|logs|environment|parking lot|timeline",
}
"""Words that a heading is, begins or ends with."""

LABELS: dict[Context, str] = {
    "decision": "decision|decisions|decided|agreed|agreement|resolution|verdict|outcome|conclusion",
    "rejected": "rejected|not doing|declined|discarded|vetoed|dropped|abandoned|out of scope|non-goal|won't do|wontfix",
    "task": "todo|to do|to-do|action|action item|ai|task|fixme|follow up|follow-up|next action|remaining|"
    "still to do|left to do|still open|ticket",
    "plan": "plan|next|next step|next steps|next up|goal|roadmap|today|tomorrow|this week|next week|then",
    "idea": "idea|proposal|recommendation|my recommendation|suggestion|thought|alternative|alternatively|brainwave",
    "claim": "claim|claims|finding|cause|cause found|root cause|reason|learning|lesson|lesson learned|insight|"
    "observation|result|fact|risk|til|note|nb|learned|gotcha|caveat|beware|problem",
    "procedure": "procedure|procedures|fix|workaround|solution|how to|howto|recipe|remedy|to fix|to reproduce|steps",
    "artifact": "artifact|pr|mr|patch|report|draft|design doc|doc|checkpoint|recording|slides|dashboard|link|links|"
    "branch|script|scripts|photos|code|notes|numbers|data|traces|files|examples|screenshots|video|results|deck|spec|"
    "issue",
    "mute": "q|question|open question|open|yesterday|done|status|blocked|blockers|attendees|present|impact|a|env|"
    "version",
}
"""Words before a colon at the start of a sentence."""

NOTHING = word_set("no none nothing n/a na tbd tba unclear open pending unknown later off - – — ?") | {
    "not yet", "see below", "see above", "to be decided", "not discussed", "no blockers",
}  # fmt: skip
HEADING_OPENINGS = ("brainstorm", "how to ", "howto", "runbook", "how we ")
_ADDED = re.compile(r" (?:for|of|with|w/|by|from|until|this|next) .*\Z")
_LAST = word_set("goal fix cause workaround decision idea solution finding action proposal recommendation lesson plan")
"""Labels that other words may precede (“quick fix”)."""
_LONGEST = 4
_SHORT = 3
_WORD = re.compile(r"[^\W_][\w'’-]*")
_LABEL = re.compile(
    r"(?:\*\*|__|_)?([^\W_][\w'/ -]{0,24}?)(?:\*\*|__|_)?(\([^()\n]{1,30}\))?(?:\*\*|__)?[ \t]?"
    r"(?::|[-–—] )(?:\*\*|__)?[ \t]*(?=\S|$)"
)
_DAYS = word_set(
    "mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday january february march april "
    "may june july august september october november december"
)
_DAY = re.compile(r"(?:\*\*)?([^\W\d_]{3,9})(?: ?[–-] ?([^\W\d_]{3,9}))?(?:\*\*)?:[ \t]+(?=\S)")


def _table(words: dict[Context, str]) -> dict[str, Context]:
    return {word: context for context, row in words.items() for word in row.split("|")}


_BY_HEADING = _table(HEADINGS)
_BY_LABEL = _table(LABELS)


def announced(context: Context | None) -> Announced | None:
    return "decision" if context == "rejected" else context


def day_of(sentence: str) -> int | None:
    match = _DAY.match(sentence)
    return match.end() if match and match[1].lower() in _DAYS else None


def heading_context(text: str) -> Context | None:
    """Return the kind that a heading announces, by its longest known words."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text[:200])]
    for length in range(min(_LONGEST, len(words)), 0, -1):
        if length == 1 and len(words) > _SHORT:
            break
        first, last = (_BY_HEADING.get(" ".join(part)) for part in (words[:length], words[-length:]))
        if first or (last and last != "mute"):
            return first or last
    return None


def label_of(sentence: str) -> tuple[Context, int] | None:
    """Return the kind that a label at the start of a sentence announces, and its end."""
    match = _LABEL.match(sentence)
    context = _label_context(match[1]) if match else None
    return (context, match.end()) if match and context else None


def _label_context(text: str) -> Context | None:
    label = text.strip().lower()
    if label.startswith(("not ", "option ")):
        return REJECTED if label.startswith("not ") else "idea"
    last = label.rsplit(" ", 1)[-1]
    return _BY_LABEL.get(label) or _BY_LABEL.get(_ADDED.sub("", label)) or (_BY_LABEL[last] if last in _LAST else None)


_MARKS = re.compile(r"[ \t]*+(?:(?:[-+*•>#]++|[0-9]{1,3}[.)]|\[[ xX~-]?\])(?:[ \t]++|$))+")
_KIND_LABELS = word_set(
    "decision decisions decided agreed agreement resolution verdict conclusion outcome finding fact learning lesson "
    "learned insight observation til note nb todo to-do action task fixme follow-up plan idea proposal suggestion "
    "thought question q rule claim"
) | {"lesson learned", "to do", "action item", "follow up", "open question"}
_SAID_NO = re.compile(r"(?i:\b(?:not|rejected|vetoed|declined|dropped|discarded|abandoned|won'?t)\b)")
_WORDS_OF = re.compile(r"[^\W\d_][\w' -]*")
UNSETTLED: frozenset[Context | None] = frozenset({"idea", "task", "plan", "mute", "artifact"})
PREFIX = "Rejected: "


class Stated(NamedTuple):
    text: str
    context: Context | None = None
    is_rejected: bool = False


def stated(text: str, context: Context | None = None) -> Stated:
    """Read a statement; a label overrides `context`."""
    mark = _MARKS.match(text)
    text = text[mark.end() :] if mark else text
    struck = text.startswith("~~")
    label = label_of(text)
    if label is None or label[1] >= len(text):
        return Stated(text, context, struck)
    announced, end = label
    word = _WORDS_OF.search(text[:end])
    is_plain = word is not None and word[0].strip().lower() in _KIND_LABELS and "(" not in text[:end]
    is_rejected = announced == REJECTED or _SAID_NO.search(text[:end]) is not None
    return Stated(text[end:] if is_plain or is_rejected else text, announced, struck or is_rejected)


def differ(one: Context | None, other: Context | None) -> bool:
    if one is None or other is None:
        return (one or other) in UNSETTLED
    return one != other


def as_said(title: str, content: str) -> str:
    is_told = stated(content).is_rejected or not stated(title).is_rejected
    return content if is_told else f"{PREFIX}{content}"


_MARKUP = re.compile(r"\*\*|__|`|^[#>\s]{1,12}|^\d{1,3}[.)] |\[([^\[\]\n]{1,120})\]\([^()\s]{1,400}\)")
_FILLER = re.compile(
    r"(?:(?:ok(?:ay)?|so|and|but|yes|yeah|well|hm+|aha?|then|also)[,:]?\s+){1,3}|"
    r"(?:we|i|they|the team)\s+(?:have\s+)?(?:decided|agreed)\s+(?:that\s+|to\s+)?|"
    r"(?:it\s+)?turn(?:s|ed)\s+out\s+(?:that\s+)?|(?:we|i)\s+(?:found|noticed|learned)\s+(?:out\s+)?that\s+|please\s+",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:]\s|\s[–—-]\s|\s(?:because|since|so that|which)\s")


def title_of(content: str, *, is_rejected: bool = False) -> str:
    """Return a title of at most 120 characters, without markup, label and opening words.

    It is cut at a clause. “Rejected” stays, and is put in front if `is_rejected`.
    """
    text = " ".join(_MARKUP.sub(lambda found: found[1] or "", content[:600]).split())
    label = label_of(text)
    said_no = stated(text).is_rejected
    if label and label[1] < len(text) and not said_no:
        text = text[label[1] :]
    filler = _FILLER.match(text)
    text = text[filler.end() :] if filler and len(text) - filler.end() > 3 else text
    text = text.strip(" .;,:–—") or " ".join(content[:TITLE_LIMIT].split())
    if is_rejected and not said_no:
        text = f"{PREFIX}{text}"
    if len(text) > TITLE_LIMIT:
        text = _cut(text)
    return text[:1].upper() + text[1:] if text[:1].upper() != "ẞ" and len(text[:1].upper()) == 1 else text


def _cut(text: str) -> str:
    ends = [match.start() for match in _CLAUSE.finditer(text, 40, TITLE_LIMIT)]
    if ends:
        return text[: ends[-1]].rstrip(" ,;:")
    space = text.rfind(" ", 40, TITLE_LIMIT - 2)
    return text[: space if space > 0 else TITLE_LIMIT - 2].rstrip(" ,;:") + " …"
