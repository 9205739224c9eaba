"""Cue table: the phrases that announce each kind, in a language compiled to regular expressions.

`a|b` is either word, a trailing `?` makes a word optional, `...` is up to three words, `,` any text before the next
comma. `^` and `$` are the ends of the statement. `<url>`, `<path>`, `<code>`, `<ref>` (a ticket) and `<number>` stand
for themselves, `<made>` for any of the first four, `<gerund>`, `<participle>` and `<verb>` (imperative) for verb forms.
The first required element must be words or masked.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from tools.reflecting.reflection.finding import Kind
from tools.reflecting.reflection.words import IMPERATIVES

URL, PATH, CODE, REF = "\ue000", "\ue001", "\ue002", "\ue003"
_MARKS = {"<url>": URL, "<path>": PATH, "<code>": CODE, "<ref>": REF}
_THINGS = {
    **{name: f"{mark}+" for name, mark in _MARKS.items()},
    "<made>": f"[{URL}{PATH}{CODE}{REF}]+",
    "<number>": r"[~<>≈]?\d[\d.,]*\s?[%\w]*",
    "<gerund>": r"[a-z]{2,30}ing",
    "<participle>": r"[a-z]{2,30}ed|done|rewritten|written|rebuilt|sent|set|run|shown|made|built|cut|split",
    "<verb>": "|".join(sorted(IMPERATIVES)),
}
_GAP = rf"(?:[\w'{URL}{PATH}{CODE}{REF}/.-]+\s+){{0,3}}?"
_SPACE = r"[\s:,(\"*_–—-]{1,12}"
_TO_COMMA = r"[^,;.!?]{0,80},\s+"
_FILE_ENDINGS = (
    "py|md|rs|go|ts|tsx|js|jsx|json|jsonl|yml|yaml|toml|sql|sh|csv|tsv|parquet|ipynb|html|css|scss|java|kt|swift|rb|php|c|"
    "h|cc|cpp|hpp|cs|proto|tf|txt|rst|adoc|pdf|png|svg|xml|ini|cfg|conf|env|lock|log|http|drawio|xlsx|docx|pptx"
)
_MASKED = (
    (CODE, re.compile(r"`[^`\n]{1,300}`")),
    (URL, re.compile(r"\b[a-z][a-z0-9+]{1,9}://[^\s<>\"')\]|]{1,2000}")),
    (
        PATH,
        re.compile(
            rf"(?<![\w./~@-])(?:~|\.{{1,2}})?/?(?:[\w.@{{}}~-]{{1,80}}/){{1,20}}[\w.@{{}}~*-]{{0,120}}"
            rf"|(?<![\w./~@-])[\w-][\w.-]{{0,80}}\.(?:{_FILE_ENDINGS})\b",
            re.IGNORECASE,
        ),
    ),
    (REF, re.compile(r"(?<![\w#!])(?:[\w.-]{0,40}[#!]\d{1,7}|[A-Z][A-Z0-9]{1,9}-\d{1,7})\b")),
)
_WORD = re.compile(rf"[\w'-]+|{URL}+|{PATH}+|{CODE}+|{REF}+")
_CURLY = str.maketrans({"’": "'", "‘": "'", **dict.fromkeys("\ue000\ue001\ue002\ue003", " ")})


def mask(text: str) -> str:
    """Return lower case of the same length, with code, URLs, paths and references masked."""
    text = text.translate(_CURLY)
    for mark, pattern in _MASKED:
        text = pattern.sub(lambda found, mark=mark: _blot(found[0], mark), text)  # type: ignore[misc]
    return lower(text)


def lower(text: str) -> str:
    found = text.lower()
    return found if len(found) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _blot(found: str, mark: str) -> str:
    kept = len(found.rstrip(".,;:!?")) if mark in (URL, PATH) else len(found)
    if mark == PATH and re.fullmatch(r"[a-zA-Z]{1,12}/[a-zA-Z]{0,12}", found[:kept]):
        return found
    return mark * kept + found[kept:]


def compile_phrase(phrase: str) -> tuple[re.Pattern[str], frozenset[str]]:
    """Return the pattern, and first words of which every match contains one."""
    elements = phrase.split()
    pattern, wakes = "", frozenset[str]()
    for number, element in enumerate(elements):
        last = number == len(elements) - 1
        if element in ("^", "$"):
            pattern += r"\A" if element == "^" else r"\W*\Z"
            continue
        if element in ("...", ","):
            pattern += _GAP if element == "..." else _TO_COMMA
            continue
        optional = element.endswith("?") and len(element) > 1
        bare = element.rstrip("?") if optional else element
        parts = bare.split("|")
        word = rf"(?<!\w)(?:{'|'.join(_THINGS.get(part, re.escape(part)) for part in parts)})(?!\w)"
        space = "" if last or elements[number + 1] == "$" else _SPACE
        pattern += f"(?:{word}{space})?" if optional else word + space
        if not wakes and not optional:
            wakes = frozenset(_MARKS.values() if bare == "<made>" else (_MARKS.get(part, part) for part in parts))
    return re.compile(pattern), wakes


def words_of(masked: str) -> list[str]:
    return [word[0] if "\ue000" <= word[0] <= "\ue003" else word for word in _WORD.findall(masked)]


SURE, CLEAR, FAIR = 1.0, 0.93, 0.85


class Row(NamedTuple):
    """Phrases separated by semicolons; `says` completes the reason of a finding."""

    kind: Kind
    strength: float
    says: str
    phrases: str

    def split(self) -> list[str]:
        phrases = self.phrases
        for name, words in _WORDS.items():
            phrases = phrases.replace(name, words)
        return [" ".join(each.split()) for each in phrases.split(";")]


def hits(masked: str, words: list[str]) -> Iterator[tuple[Row, int, int]]:
    by_word = _by_word()
    for word in dict.fromkeys(words):
        for row, pattern in by_word.get(word, ()):
            match = pattern.search(masked)
            if match:
                yield row, *match.span()


@lru_cache(maxsize=1)
def _by_word() -> dict[str, list[tuple[Row, re.Pattern[str]]]]:
    found: dict[str, list[tuple[Row, re.Pattern[str]]]] = {}
    for row in ROWS:
        for phrase in row.split():
            pattern, firsts = compile_phrase(phrase)
            for word in firsts:
                found.setdefault(word, []).append((row, pattern))
    return found


_WORDS: Mapping[str, str] = {
    "{repair}": "fix|avoid|prevent|reset|restore|recover|reproduce|retrain|cancel|undo|find|get|see|enable|disable|"
    "stop|start|debug|test|deploy|rebuild",
    "{document}": "pr|mr|patch|report|draft|doc|document|slides|dashboard|recording|screenshots|spec|adr|checkpoint|"
    "branch|diagram|prototype",
    "{output}": "pr|mr|patch|report|draft|doc|document|slides|dashboard|recording|numbers|traces|photos|results|"
    "screenshots|code|script|notebook|notes|spec|adr|examples|requests|checkpoint|branch|diagram|plots|"
    "data|model|weights",
    "{make}": "opened|created|wrote|pushed|published|uploaded|generated|drafted|filed|raised|submitted|made|saved|"
    "exported|committed|added|recorded|built",
    "{uses}": "takes|costs|uses|needs|loses|leaks|blocks|eats|holds|consumes|weighs|cuts|accepts|ignores|keeps|"
    "retries|returns|sends|answers|expires|requires|breaks|crashes|supports",
    "{state}": "broken|limited|throttled|stale|missing|wrong|reset|parsed|killed|ignored|cached|blocked|called|"
    "created|printed|loaded|compact|disabled|enabled",
    "{weekday}": "monday|tuesday|wednesday|thursday|friday",
}

ROWS: tuple[Row, ...] = (
    Row("decision", SURE, "states a choice that was made", """
        we|i|they|team|group|everyone|everybody|board|customer|client|legal have|has|had?
            finally|already|also|all|both|then? decided|agreed|chose|opted|settled;
        decided|agreed|opted to|on|not|against|for|that|in|it|we; decided|agreed with|w ... we|that|to|manifest;
        was|were|is|been decided|agreed that|to|on|not; decision is|was to|that|against|for; settled on|for;
        made the decision|call to; ruled out; in the end we|i|everybody|everyone;
        ended up with|using|choosing|going|keeping; consensus is|was|that;
        standardising|standardizing|standardised|standardized on; signed off on
        """),
    Row("decision", CLEAR, "states a choice", """
        going|go|goes|went|gone with|for; are|is therefore|thus|hence;
        sticking|stick|stay|staying|stuck|keep|keeping with|on|to|using|the;
        we're|are moving|switching|migrating ... to|from|off|away|over;
        we're|are dropping|keeping|retiring|removing|replacing|deprecating|freezing|skipping|cutting;
        chose|chosen|picked|selected to|the|a|an|not|over;
        let's|lets go|do|use|keep|drop|stick|take|not|leave|make|skip; switched|moved|changed to ... rather|instead;
        we drop|keep|freeze|skip|stay|stick|stop|use; we'll go|use|keep|stay|stick with|on|to|the|a;
        we will go|use|keep|stay|stick with|on|to|the|a; postponed|deferred|parked|shelved until|to|for|the;
        reverted to|back; moved|pushed|shifted to {weekday}|next; on hold;
        disabled|stopped|paused|killed|kept|silenced ... ... for now; turned it|that|this off|on for;
        customer|client|legal|board|management has|have accepted|approved|agreed;
        customer|client|legal|board|management|committee approves|accepts|agrees|chooses|rejects;
        we|i will not|never; we|i won't; ^ won't|wontfix fix|do|support|implement|be?; not going to; we no longer;
        no more|longer|any ... from|since; not part of; out of scope;
        from now on; going forward; until further notice; effective immediately; until then i|we;
        from next sprint|week|month|quarter|release on
        """),
    Row("plan", SURE, "states a plan", """
        the|our|my plan is|was|for; we|i plan|intend|aim to|for; ^ working|continuing on ... this|today|tomorrow|next;
        planning|planned|intending|aiming to|for|in; next step|steps is|are|will; aiming|targeting for|the|a|<number>
        """),
    Row("plan", CLEAR, "says what will be done", """
        we'll; we will|shall; we're|are|am|i'm going to; ^ going to; tomorrow|today we|i|we'll|i'll|i'm|we're;
        next|this week|sprint|month|quarter|year we|i|we'll|i'll;
        tomorrow|today start|starting|continue|continuing|on|working; ^ today|tomorrow;
        roll-out|rollout|migration|release|launch|beta|alpha happens|starts|begins|is planned|in|on;
        in|over two|three|four|several|<number> phases|waves|stages|steps; is|are planned|scheduled for|in|on|to;
        will be rolled|released|shipped|migrated|launched|moved; when i'm|we're back;
        we meet|continue|resume|start|begin|ship|launch|release|reconvene again? on|at|in|next|again|with|tomorrow;
        goes|go|going out|live on|at|in|next; go-live|release|launch|deadline|deployment is|stays|moves on|to|in|at;
        follow-up|next call|meeting|sync|review|session|round|batch|run is? on|in|at|goes
        """),
    Row("plan", FAIR, "says what comes next", """
        going to; next up; starts|begins|ships|launches|continues on|in|next|with|at;
        it'll come|ship|launch|start|follow with|in|on|next; will come|ship|launch|start|follow with|in|on|next;
        ^ continue|start with|on
        """),
    Row("task", SURE, "names something to be done", """
        todo; fixme; needs|need to be; must|has|have be|to be done|rotated|changed|fixed|added|removed|updated;
        action item; still to do|be; someone|somebody|anybody ... must|should|has|needs|will|please|to;
        don't forget to; remember to
        """),
    Row("task", CLEAR, "asks somebody to do something", """
        please; pls; could|can|would|will you <verb>; needs|need to;
        needs|need ... review|test|tests|fix|owner|look|decision|check|cleanup|update|ticket|alert|rule|docs;
        has|have|got|needs to; gotta; must; follow|following up with|on; make sure; i'll <verb>; i will <verb>;
        was|is|are asked|supposed|meant to; assigned to; is|are to
        """),
    Row("task", FAIR, "sounds like a to-do", """
        ^ will; still missing|outstanding|pending|undone; remains to;
        missing test|tests|docs|documentation|check|handling; should|must|needs|need to? be <participle>;
        by|until|before|due {weekday}|tomorrow|tonight|eod|eow; ticket|issue <ref>? for; same ... check; should <verb>
        """),
    Row("idea", SURE, "puts up an idea", """
        what if; how about; idea is|was|would|to;
        another|alternative|other option|approach|way|idea is|would|might|could;
        i|we|was wonder|wondering|wondered if|whether; ^ wonder|wondering if|whether|about; why not; why don't|not we;
        we|i should
        """),
    Row("idea", CLEAR, "says what could be done", """
        we|one|you|i|they could|might;
        could|might also|just|even|use|try|be|have|add|move|split|cache|replace|make|do|help|work|as|ask|keep;
        might|may|could|would be worth|nice|interesting|cool|good|useful|helpful|better|possible|great;
        worth trying|a|exploring|considering|looking|it; maybe|perhaps we|i|use|try|add|just|it|a|an|the;
        suggested|suggest|suggests|proposed|propose|proposes|suggestion; thinking|thought about|of; alternatively;
        would|might|could make sense; would|might help|allow|let; it'd be nice|good|great|cool|useful|better|easier;
        it would be nice|good|great|cool|useful|better|easier; shouldn't|couldn't|can't we|i;
        should we|i rather|maybe|just|also|better; might|may want to; would love|like to; worth a try|look|shot;
        could we|one <verb>; have you considered|tried|thought; maybe|perhaps <verb>; nice to have;
        ^ or a|an|the|maybe|just
        """),
    Row("claim", SURE, "states a cause", """
        root|underlying|real|actual|main cause|reason|problem; cause|reason|culprit|explanation|catch is|was|found|for;
        turns|turned out; caused by; is|was the cause|reason|culprit|problem|bottleneck; issue|problem|bug is|was that;
        responsible for; introduced in|by|with
        """),
    Row("claim", CLEAR, "states what was found out", """
        we|i found|discovered|learned|learnt|noticed|realised|realized|confirmed|verified|measured that|out|the;
        found|find|finding out that|the; ^ found a|an|the|that; means|mean that;
        works|performs best|better|worse|worst; only one|two|the|<number> ... can;
        most|many|few|two|three|four|five|several of <number>|two|three|four|five|six|the|our|us;
        discovered|learned|learnt|noticed|realised|realized|confirmed|verified|proved that;
        happens|fails|crashes|breaks|occurs|appears|works|grows|reproduces|stops only?
            when|whenever|if|with|after|because|since|during|for;
        only happens|fails|crashes|breaks|occurs|appears|works|become|becomes when|if|on|with|after;
        fails|happens|occurs only; makes|made no difference; due to; because of; leads|led to; results|resulted in;
        explains why|the; increased|decreased|reduced|improved|cut ... by|from|to <number>; correlates|correlated with;
        from <number> ... to|down|up <number>; to|down|up <number> from <number>
        """),
    Row("claim", FAIR, "gives a reason or a behaviour", """
        because|bc; since the|it|we|our|they|an|a; so|which|that's our|the|why; which means|is|are|was;
        doesn't|don't|does|do not?
            support|work|expire|return|handle|scale|have|fit|reset|close|focus|know|accept|allow;
        isn't|aren't|wasn't|weren't; is|are|was|were not; can't|cannot|can|could|couldn't only|not; cannot|can't;
        never|always|silently;
        takes|took|costs|cost|loses|lost|gains|saves|halves|doubles about|around|roughly|at? <number>; {uses};
        has|have no|<number>;
        is|are|was|were longer|shorter|bigger|smaller|faster|slower|higher|lower|better|worse|cheaper
            than|because|since; is|are|was|were {state}; is|are|was <number>;
        limit|maximum|minimum|default|quota is|are|was; stay|stays|gets|get compact|stuck|slow|slower|empty;
        makes|make|made ... useless|slow|slower|faster|impossible;
        if|when|whenever|once the|it|a|an|two|something|one|they; since <number>;
        it|that|this|which logs|reads|writes|builds|reports|counts|leaves|matches|drops; leak|leaks|depend|depends;
        come|comes from; calls|called <made>|on|every|by; nobody|everyone|everybody uses|knows|reads|has;
        is|are|was|were
            too|useless|flaky|expired|unreliable|confusing|misleading|incompatible|deprecated|outdated|unused;
        is|are|was|were <participle> twice|every|after|before|while|when; it's the; half of the|our|all;
        before they|it is|are; too many|much|few|slow|big|heavy
        """),
    Row("procedure", SURE, "says how it was or is done", """
        fixed|solved|resolved|repaired|recovered|cured it|this|that|... by|with; fixed|solved|resolved by|with;
        fix|solution|workaround|trick|remedy|cure is|was to; to work around|round; to get around;
        right|correct|proper way to|is; how to; you can|have|need|must;
        to {repair} , run|use|set|call|pass|open|do|add|stop|change|first
        """),
    Row("procedure", CLEAR, "tells how to do it", """
        ^ to {repair}; by <gerund> the|it|a|an|one|its|to|back|and|<made>; ^ always|never <verb>;
        ^ replaced|deduplicated|moved|swapped|changed|converted|wrapped|rewrote ... by|with;
        run|use|set|call|open|pass|execute|type <code>|<path>; frees|fixes|helps|solves|cures it|this|that|them;
        helps|helped $; solved|fixed|cured it|this|that $; makes|made ... go away;
        ^ setting|adding|removing|using|changing|switching|running|replacing|moving|raising|lowering|clearing ... ...
            brings|makes|helps|fixes|cuts|reduces|solves|works|stops|avoids|halves; with|via|using <code>;
        if|when|whenever|once , <verb>; then|and restart|rerun|reload|redeploy|retry
        """),
    Row("procedure", FAIR, "reads like instructions", """
        ^ run <made>|the|it|make|this|all|a;
        ^ open|set|pull|push|click|select|pick|pass|start|stop|restart|enable|disable|install|configure|export;
        ^ <code>; before <gerund>; before you; can be ... with|by; first ... then; works if you; use ... instead
        """),
    Row("artifact", SURE, "names something that was made", """
        {make} ... ... <url>|<path>|<ref>; created|wrote|pushed|added|generated ... <code>;
        {document} is|are|was? up|here|ready|at|in|on|under|open? ... <made>
        """),
    Row("artifact", CLEAR, "says where something lies", """
        {output} is|are|live|lie|lies? in|at|under|on|here? <url>|<path>;
        is|are|lives|lies|live|lie in|at|under <url>|<path>; ticket|issue|task is|was <ref>;
        pushed|opened|merged|published|released <made>|branch|feature; here's|here is? the|my|a? ... <made>
        """),
)  # fmt: skip
