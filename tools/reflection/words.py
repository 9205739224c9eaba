"""What headings and labels say about the text under and after them. Data first: a contributor adds a word here."""

import re
from typing import Literal

from tools.reflection.finding import Kind
from tools.reflection.wordlist import word_set

Announced = Kind | Literal["mute"]
"""A kind that a heading promises, or `mute` where nothing under it is worth keeping without words of its own."""
Context = Announced | Literal["rejected"]
"""The same, where it is told that the decision is against it."""
REJECTED: Context = "rejected"

HEADINGS: dict[Context, str] = {
    "decision": "decision|decisions|decided|agreed|agreement|agreements|resolution|resolutions|conclusion|conclusions|"
    "we agreed|we decided|what we decided|result of the vote|outcome of the vote|outcome|outcomes",
    "rejected": "rejected|not in scope|out of scope|non-goals|non-goal|not doing|declined|discarded|vetoed|won't do",
    "task": "action|actions|action item|action items|task|tasks|todo|todos|to do|to dos|to-do|to-dos|follow up|"
    "follow-up|"
    "follow ups|follow-ups|next actions|open tasks|remaining|remaining work|still to do|left to do|homework|checklist",
    "idea": "idea|ideas|brainstorm|brainstorming|try|to try|things to try|what to try|suggestion|suggestions|proposal|"
    "proposals|improvement ideas|wishlist|nice to have",
    "plan": "plan|plans|the plan|roadmap|next|next step|next steps|goal|goals|milestone|milestones|"
    "this week|next week|week plan|rollout|roll-out|today|tomorrow",
    "claim": "finding|findings|learning|learnings|lesson|lessons|lessons learned|what we learned|what we found|"
    "root cause|"
    "cause|causes|observation|observations|insight|insights|risk|risks|known issues|facts|gotchas|caveats|limitations",
    "procedure": "how to|howto|procedure|runbook|recipe|instructions|workaround|workarounds|steps to fix|solution|"
    "recovery|rollback",
    "artifact": "artifact|artifacts|deliverables|outputs|files changed|files created|created files|pull requests",
    "mute": "question|questions|open question|open questions|open points|unresolved|attendees|present|"
    "participants|agenda|"
    "went well|what went well|done|yesterday|status|impact|blockers|blocked|steps to reproduce|to reproduce|log|logs|"
    "environment|parking lot|timeline",
}
"""A heading says this when it is, begins or ends with one of the words; the longest word wins."""

LABELS: dict[Context, str] = {
    "decision": "decision|decisions|decided|agreed|agreement|resolution|verdict|outcome|conclusion",
    "rejected": "rejected|not doing|declined|discarded|vetoed|dropped|abandoned|out of scope|non-goal|won't do|wontfix",
    "task": "todo|to do|to-do|action|action item|ai|task|fixme|follow up|follow-up|next action|remaining|still to do|"
    "left to do|still open|ticket",
    "plan": "plan|next|next step|next steps|next up|goal|roadmap|today|tomorrow|this week|next week|then",
    "idea": "idea|proposal|recommendation|my recommendation|suggestion|thought|alternative|alternatively|brainwave",
    "claim": "finding|cause|cause found|root cause|reason|learning|lesson|lesson learned|insight|observation|"
    "result|fact|"
    "risk|til|note|nb|learned|gotcha|caveat|beware|problem",
    "procedure": "fix|workaround|solution|how to|howto|recipe|remedy|to fix|to reproduce|steps",
    "artifact": "artifact|pr|mr|patch|report|draft|design doc|doc|checkpoint|recording|slides|dashboard|link|"
    "links|branch|"
    "script|scripts|photos|code|notes|numbers|data|traces|files|examples|screenshots|video|results|deck|spec|issue",
    "mute": "q|question|open question|open|yesterday|done|status|blocked|blockers|attendees|present|impact|a|"
    "env|version",
}
"""Words that announce a kind when a colon follows them at the start of a sentence."""

NOTHING = word_set("no none nothing n/a na tbd tba unclear open pending unknown later off - – — ?") | {
    "not yet", "see below", "see above", "to be decided", "not discussed", "no blockers",
}  # fmt: skip
"""What follows a label that announces nothing."""


def _table(words: dict[Context, str]) -> dict[str, Context]:
    return {word: context for context, row in words.items() for word in row.split("|")}


_BY_HEADING = _table(HEADINGS)
_BY_LABEL = _table(LABELS)
_ADDED = re.compile(r" (?:for|of|with|w/|by|from|until|this|next) .*\Z")
_LAST = word_set("goal fix cause workaround decision idea solution finding action proposal recommendation lesson plan")
"""Labels that other words may stand before (“quick fix”)."""
_LONGEST = 4
_SHORT = 3
_WORD = re.compile(r"[^\W_][\w'’-]*")
_LABEL = re.compile(
    r"(?:\*\*|__|_)?([^\W_][\w'/ -]{0,24}?)(?:\*\*|__|_)?(\([^()\n]{1,30}\))?(?:\*\*|__)?[ \t]?(?::|[-–—] "
    r")(?:\*\*|__)?[ \t]*(?=\S|$)"
)
_SHOUTED = re.compile(r"(TODO|FIXME|ACTION|IDEA|NOTE|TIL)(\(\w{1,30}\))?[ \t]+(?=\w)")


TITLES = ("brainstorm", "how to ", "howto", "runbook", "how we ")
"""What a title opens with that says what the whole text is, colon or not."""
DAYS = word_set(
    """
    mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday january february march
    april may june july august september october november december
    """
)
_DAY = re.compile(r"(?:\*\*)?([^\W\d_]{3,9})(?: ?[–-] ?([^\W\d_]{3,9}))?(?:\*\*)?:[ \t]+(?=\S)")


def announced(context: Context | None) -> Announced | None:
    """Return the kind: that something is not to be is a decision."""
    return "decision" if context == "rejected" else context


def day_of(sentence: str) -> int | None:
    """Return where the text after a day or month at its start begins, `None` where there is none."""
    match = _DAY.match(sentence)
    return match.end() if match and match[1].lower() in DAYS else None


def heading_context(text: str) -> Context | None:
    """Return what a heading promises, `None` if nothing that is known."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text[:200])]
    for length in range(min(_LONGEST, len(words)), 0, -1):
        context = _BY_HEADING.get(" ".join(words[:length]))
        if context and (length > 1 or len(words) <= _SHORT):
            return context
        context = _BY_HEADING.get(" ".join(words[-length:]))
        if context and context != "mute" and (length > 1 or len(words) <= _SHORT):
            return context
    return None


def is_heading(text: str) -> bool:
    """Whether a text is a known heading and nothing more."""
    return " ".join(word.lower() for word in _WORD.findall(text[:200])) in _BY_HEADING


def label_context(text: str) -> Context | None:
    """Return what a label announces; what it is for, and with whom, does not count (“goal for the week”)."""
    label = text.strip().lower()
    if label.startswith(("not ", "option ")):
        return REJECTED if label.startswith("not ") else "idea"
    last = label.rsplit(" ", 1)[-1]
    return _BY_LABEL.get(label) or _BY_LABEL.get(_ADDED.sub("", label)) or (_BY_LABEL[last] if last in _LAST else None)


def label_of(sentence: str) -> tuple[Context, int] | None:
    """Return what the label at the start of a sentence announces, and where the text after it begins."""
    shouted = _SHOUTED.match(sentence)
    if shouted:
        return _BY_LABEL[shouted[1].lower()], shouted.end()
    match = _LABEL.match(sentence)
    context = label_context(match[1]) if match else None
    return (context, match.end()) if match and context else None
