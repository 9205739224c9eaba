"""Plain text as one inert line of Markdown: no link, HTML, mention or image.

Backticks and words such as `--flag` or `src/file.py` become code.
"""

import re
from collections.abc import Iterator
from itertools import chain

from tools.text.plain import one_line

_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\(\s*<?((?:[^()\s<>]|\([^()\s<>]*\))*)>?(?:\s+\"[^\"]*\")?\s*\)")
_RST_ROLE = re.compile(r":[a-z:+-]{2,20}:(?=`[^`]+`)")
_SPECIAL = re.compile(r"[\\`*\[\]<~$|]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
_LINE_START = re.compile(r"(?:[#>+=-]|\d{1,9}(?=[.)](?:\s|$)))")
_OPENING = "([{\"'\u201c\u2018*_"
_CLOSING = ".,;:!?\"'\u201d\u2019*_"
_PAIRS = ((")", "("), ("]", "["), ("}", "{"))

_CODE = re.compile(
    r"""
    --[A-Za-z][\w-]*(?:=\S+)?            # --flag, --flag=value
    | \$\{?\w+\}?                         # $NAME
    | (?=\S*\w_\w)[A-Za-z_][\w.{},*:-]*   # a_name, module.a_name
    | _+[A-Za-z]\w*                       # _private, __init__
    | (?:[A-Z][a-z0-9]+){2,}              # ClassName
    | (?:[A-Z][a-z]+)?[A-Z]{3,}[a-z]{3,}\w* # HTTPError, BaseHTTPServer
    | [A-Za-z_][\w.]*\(\S*\)              # call(), module.call(x)
    | [a-z_]\w+(?:\.[A-Za-z_]\w+)+        # module.name, file.py
    | [A-Z_]{3,}\.[a-z]{2,4}              # README.md
    | [A-Z]\w+(?:\.[a-z_]\w+)+            # Class.method
    | \.{0,2}/[\w.{}*-]+(?:/[\w.{}*-]*)*  # /path, ./path
    | [\w.-]+(?:/[\w.*-]+)+\.\w+          # src/file.py
    | [\w.-]+/(?:[\w.*-]+/)+[\w.*-]*      # a/b/c, a/b/
    """,
    re.VERBOSE,
)
_CALLS = re.compile(r"@|://|www\.|[<>].*\w|\w.*[<>]|[\[\]]", re.IGNORECASE)
_PROPER = """
node.js next.js vue.js asp.net e.g i.e and/or github gitlab bitbucket codeberg javascript typescript coffeescript
websocket websockets opentelemetry opensearch openstack youtube linkedin whatsapp wordpress pytorch langchain langgraph
llamaindex huggingface powershell stackoverflow micropython clickhouse cloudflare cloudformation digitalocean hashicorp
sqlite cpython ipython oauth
jetbrains intellij dropbox postscript restructuredtext deepmind deepseek unicode iphone ipad airflow
"""
_NAMES = frozenset(_PROPER.split())


def inert(text: str) -> str:
    line = _RST_ROLE.sub("", _LINK.sub(_spoken_link, one_line(text)))
    parts: list[str] = []
    rendered = ([code(piece)] if is_code else map(_word, re.split(r"(\s+)", piece)) for is_code, piece in _pieces(line))
    for part in chain.from_iterable(rendered):
        # Two runs of backticks side by side would be one.
        if parts and parts[-1].endswith("`") and part.startswith("`"):
            parts.append(" ")
        parts.append(part)
    written = "".join(parts)
    at = _LINE_START.match(written)
    if at is None:
        return written
    return f"{written[: at.end()]}\\{written[at.end() :]}" if written[0].isdigit() else f"\\{written}"


def code(text: str) -> str:
    line = one_line(text)
    if not line:
        return ""
    runs = {len(run) for run in re.findall("`+", line)}
    fence = next("`" * length for length in range(1, len(runs) + 2) if length not in runs)
    padding = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{padding}{line}{padding}{fence}"


def code_words(text: str) -> Iterator[str]:
    for is_code, piece in _pieces(one_line(text)):
        if is_code:
            yield piece
            continue
        for word in piece.split():
            _, core, _ = _taken_apart(word)
            if not _is_ordinary(word) and _is_code(core):
                yield core


def _spoken_link(found: re.Match[str]) -> str:
    label, address = found[1].strip(), found[2]
    return f"{label} ({address})" if label and address and label != address else label or address


def _pieces(line: str) -> Iterator[tuple[bool, str]]:
    at = 0
    for span in _SPAN.finditer(line):
        yield False, line[at : span.start()]
        yield True, span[2].strip()
        at = span.end()
    yield False, line[at:]


def _word(word: str) -> str:
    if _is_ordinary(word):
        return word
    opening, core, closing = _taken_apart(word)
    if _is_code(core) or _CALLS.search(core):
        # Quotation marks around code say the same twice.
        if opening[-1:] == closing[:1] and opening[-1:] in ("'", '"'):
            opening, closing = opening[:-1], closing[1:]
        return f"{_escaped(opening)}{code(core)}{_escaped(closing)}"
    return _escaped(word)


def _is_ordinary(word: str) -> bool:
    letters = word.rstrip(".,;:")
    return letters.isalpha() and (letters.islower() or letters.istitle())


def _taken_apart(word: str) -> tuple[str, str, str]:
    core = word.lstrip(_OPENING)
    if core.startswith("_") or word[len(word) - len(core) - 1 : len(word) - len(core)] == "_":
        core = word.lstrip(_OPENING.replace("_", ""))
    opening = word[: len(word) - len(core)]
    end = len(core)
    while end:
        last = core[end - 1]
        unbalanced = any(last == right and core[:end].count(right) > core[:end].count(left) for right, left in _PAIRS)
        if not unbalanced and (last not in _CLOSING or (last == "_" and core.startswith("_"))):
            break
        end -= 1
    return opening, core[:end], core[end:]


def _is_code(word: str) -> bool:
    return word.lower() not in _NAMES and _CODE.fullmatch(word) is not None


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", text)
