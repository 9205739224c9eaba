"""Phrase language of the cue table, compiled to regular expressions.

`a|b` is either word, a trailing `?` makes a word optional, `...` is up to three words, `,` any text before the next
comma. `^` and `$` are the ends of the statement. `<url>`, `<path>`, `<code>`, `<ref>` (a ticket) and `<number>` stand
for themselves, `<made>` for any of the first four, `<gerund>`, `<participle>` and `<verb>` (imperative) for verb forms.
The first required element must be words or masked.
"""

import re

from tools.reflecting.reflection.signals import IMPERATIVES

URL, PATH, CODE, REF = "\ue000", "\ue001", "\ue002", "\ue003"
_THINGS = {
    "<url>": f"{URL}+",
    "<path>": f"{PATH}+",
    "<code>": f"{CODE}+",
    "<ref>": f"{REF}+",
    "<made>": f"[{URL}{PATH}{CODE}{REF}]+",
    "<number>": r"[~<>≈]?\d[\d.,]*\s?[%\w]*",
    "<gerund>": r"[a-z]{2,30}ing",
    "<participle>": r"[a-z]{2,30}ed|done|rewritten|written|rebuilt|sent|set|run|shown|made|built|cut|split",
    "<verb>": "|".join(sorted(IMPERATIVES)),
}
_GAP = rf"(?:[\w'{URL}{PATH}{CODE}{REF}/.-]+\s+){{0,3}}?"
_SPACE = r"[\s:,(\"*_–—-]{1,12}"
_TO_COMMA = r"[^,;.!?]{0,80},\s+"
_MARKS = {"<url>": URL, "<path>": PATH, "<code>": CODE, "<ref>": REF}
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
    """Return lower case of the same length."""
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
