"""Detection of code in any language, by its lines."""

import re
from itertools import islice

_READ_CHARACTERS = 20_000
_READ_LINES = 200
_LINE_CHARACTERS = 200
_LEAST_SHARE = 0.6

_QUOTES = {'"""': '"""', "'''": "'''", "/*": "*/", "<!--": "-->"}
_OPENING = re.compile("|".join(map(re.escape, _QUOTES)))
_SILENT = re.compile(r"(?:#(?!\s*(?:include|define|if|endif))|//|--\s|@\w|```|[\w.\"'/-]+,?$)")
"""Comments, decorators, fences, single words of a list."""
_STATEMENT = re.compile(
    r"(?:async\s+)?(?:def|func|fn|function|fun|sub)\s+[\w.:$<>]+(?:\(|\s\{)|function\s?\("
    r"|(?:class|struct|enum|interface|trait|impl|namespace|module)\s+\w+(?:[(<].*|\s(?:extends|for)\s.*)?\s?[:{]$"
    r"|(?:public|private|protected|static|void|int|double|float|char|bool|extern)\s+[\w:*&<>\[\], ]*(?:\w\(|\w\s?[=;{])"
    r"|(?:export\s+)?(?:const|let|var|val|auto|type|typedef|local|my)\s+[\w:*&<>\[\]$@%.,{} ]+(?:=|;$)"
    r"|export\s(?:default|const|function|class)\b|import\s+[\w.]+(?:\s+as\s+\w+)?;?$|import\s.+\sfrom\s+['\"]"
    r"|from\s+[\w.]+\s+import\s|(?:use|using|package)\s+[\w.:{}*, ]+;$|(?:if|while|for|switch|catch)\s?\(.*[){;]$"
    r"|(?:if|elif|while)\s.*[=<>!(.\[].*:$|(?:async\s+)?for\s\w+(?:,\s?\w+)*\sin\s.*:$|(?:async\s+)?with\s.*[\w)]:$"
    r"|(?:else|try|do|finally|except|begin|end|then|fi|done|esac|pass|break|continue)(?:\s\w+)?\s?[:{;]?$"
    r"|(?:return|yield|raise|throw|await|assert|del|echo|print|puts)(?:\s+[\w.\[\]'\"(){}+*/<>=-]+)?;?$"
    r"|SELECT\s(?:.+\sFROM\s|[\w.*, ]+,?$)|INSERT INTO\s|UPDATE\s\w+\sSET\s|DELETE FROM\s|(?:FROM|WHERE|JOIN)\s\w"
    r"|(?:CREATE|ALTER|DROP)\s(?:TABLE|INDEX|VIEW|OR\s)|(?:GROUP|ORDER) BY\s|#\s*(?:include|define|if|endif)"
    r"|</?\w+[^>]*>$"
)
"""Beginnings of statements and block headers; no sentence begins so."""
_EXPRESSION = re.compile(
    r"[\w)\]]\s?(?:[-+*/|&%^:?]?=|:=|<-)\s?[^\s=]|[=!]==?|=>|->|::|&&|\|\||\+\+|\w\(\S*\)|\w\([^)]*[=,(\[\]'\"][^)]*\)"
    r"|[\w)]\.\w+\(|\w\[[^\]]+\]|[\w)\]}\"']\($|\$\{?\w+|^[\s{}()\[\];,]+$|^[\w.\"']+\(.*|[;{]$|^[)?:.&]\s?\S"
    r"|^(?:return|yield)\s|^(?:if|elif|for|while)\s.*(?:[:{]|;\s?(?:do|then))$"
    r"|^[\w:*&<>]+\s[\w*&]+(?:;|,$)|^[A-Z_]{3,}(?:,|\s*=)"
)
_LOGGED = re.compile(r"\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d|ERROR|WARN|INFO|DEBUG|TRACE)")
_WORDS = re.compile(r"[^\W\d_]{2,}[,;:]? (?:[^\W\d_]+[,;:]? ){3}[^\W\d_]+")


def is_code(text: str) -> bool:
    """Return whether most lines are code; comments and docstrings do not count."""
    lines = (line.strip() for line in _without_comments(text[:_READ_CHARACTERS]).splitlines())
    telling = [line for line in islice(filter(None, lines), _READ_LINES) if not _SILENT.match(line)]
    code = [line for line in telling if _is_code_line(line)]
    if len(code) < max(_LEAST_SHARE * len(telling), 1):
        return False
    return len(code) > 1 or _STATEMENT.match(code[0][:_LINE_CHARACTERS]) is not None


def _without_comments(text: str) -> str:
    kept, at = [], 0
    while (opening := _OPENING.search(text, at)) is not None:
        end = text.find(_QUOTES[opening[0]], opening.end())
        if end < 0:
            break
        kept.append(text[at : opening.start()])
        at = end + len(_QUOTES[opening[0]])
    return "".join([*kept, text[at:]])


def _is_code_line(line: str) -> bool:
    start = line[:_LINE_CHARACTERS]
    if _LOGGED.match(start) or (" " in start and line.endswith((".", "?", "!"))):
        return False
    if len(line) > len(start) and _WORDS.search(start):
        return False
    return bool(_STATEMENT.match(start) or _EXPRESSION.search(start))
