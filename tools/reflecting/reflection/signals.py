"""Signals that weaken a cue: questions, doubt, open points, refutations."""

import re
from collections.abc import Mapping

from tools.reflecting.reflection.wordlist import word_set

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
_NOUNS = word_set(
    """
    answer book build call change check copy file fix group label link list load log map mark mock order patch pin plan
    point post print record release report request review run seed show support tag talk test watch work wrap
    """
)
PEOPLE_DO = word_set(
    """
    arranges asks books buys clarifies contacts coordinates discusses drafts estimates interviews investigates orders
    organises organizes prepares presents collects updates hands brings creates recruits reminds
    reviews schedules sketches talks writes
    """
)
"""Verbs that mark the name before them as a person, not a program."""
THINGS_DO = frozenset(
    f"{verb}{'es' if verb.endswith(('s', 'sh', 'ch', 'x')) else 's'}" for verb in IMPERATIVES - _NOUNS
) | word_set(
    """
    assumes says shows seems needs wants makes takes gives gets knows thinks expects becomes contains costs crashes
    fails happens hangs lacks leaks loses means misses occurs returns requires skips comes goes
    lives belongs behaves relies
    produces causes depends grows consumes throws raises blocks breaks complains overwrites hits
    """
)

_PATTERNS: Mapping[str, str] = {
    "undecided": r"\bno (?:final |clear )?decisions?\b|\b(?:not|n't|never) (?:yet )?(?:really |finally )?"
    r"(?:been )?(?:decided?|agreed?|settled?)\b(?! (?:to|not to|that|on)\b)|\bundecided\b|\bto be decided\b|\btbd\b"
    r"|\b(?:is|are) still (?:open|unclear)\b"
    r"|\bnot discussed\b|\bunclear\b|\bneed(?:s)? to decide\b|\bdecide "
    r"(?:whether|if)\b"
    r"|\bhave(?:n't| not) (?:yet )?decided\b",
    "unknown": r"\b(?:i|we) (?:don't|do not|didn't) (?:yet )?know\b|\bno (?:clue|idea)\b|\bnot sure (?:yet|why|"
    r"what|how|if|whether)\b",
    "refuted": r"\b(?:thought|assumed|suspected|believed|tried|hoped)\b.*\b(?:but|however|no (?:difference|"
    r"change|luck|effect|help))\b"
    r"|\b(?:same result|no luck|may also be)\b",
    "hedge": r"\b(?:probably|possibly|presumably|apparently|likely|seems?|seemed|suspect|i think|i guess|i "
    r"believe|i assume|"
    r"not sure|may be|might be|could be|perhaps|maybe|supposedly|if i remember|afaik|iirc|hopefully)\b",
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
    """Return the spans of quotations of two or more words."""
    return [match.span() for match in _QUOTED.finditer(text) if len(match[0].split()) > 1]
