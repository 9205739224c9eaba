"""Trailers of a commit message."""

import re

_TRAILER = re.compile(
    r"^(?P<key>[A-Za-z][A-Za-z0-9-]{1,40}|BREAKING[ -]CHANGE)(?P<colon>\s*:\s+| (?=#\d))(?P<value>\S.*)$"
)
_LIKELY = re.compile(
    r"^(?:signed-off|co-authored|reviewed|acked|tested|reported|suggested|helped|cc|fixe?[sd]?|close[sd]?|resolve[sd]?"
    r"|refs?|see-also|change-id|bug|issue|link|breaking|relates|part-of|pr-url|merged|approved|claude-session|release-note"
    r"|git-tfs|backport|jira|differential|summary-by|x-)",
    re.I,
)
_CO_AUTHOR = re.compile(r"^\s*(?:\*\s*)?co-authored-by:\s*(?P<name>[^<\n]*?)\s*<(?P<email>[^>\n]*)>\s*$", re.I | re.M)
_BREAKING = re.compile(r"^BREAKING[ -]CHANGES?(?:\([^)]*\))?\s*:", re.M)

_NOTHING = re.compile(
    r"^\W*(?:none|nope|nothing|no|n/?a|n\.a\.|not applicable|nil|false)\b"
    r"(?:\W*$|[.,;:!)\u2013\u2014]| -|\W+(?:expected|known|whatsoever|at all|here|that|breaking|such|changes?)\b)",
    re.I,
)

Trailer = tuple[str, str]


def split_trailers(body: str) -> tuple[str, tuple[Trailer, ...]]:
    """Split a body into text and trailers; indented lines continue a value.

    The last paragraph counts if every line looks like a trailer and one is known; `BREAKING CHANGE:` counts anywhere.
    """
    paragraphs = re.split(r"\n[ \t]*\n", body.strip("\n"))
    trailers: list[Trailer] = []
    while paragraphs:
        found = _as_trailers(paragraphs[-1])
        if found is None:
            break
        trailers = found + trailers
        paragraphs.pop()
    kept = []
    for number, paragraph in enumerate(paragraphs):
        start = _BREAKING.search(paragraph)
        if start is not None and not paragraph[start.end() :].strip() and number + 1 < len(paragraphs):
            # What breaks stands in the paragraph after the word.
            paragraphs[number + 1] = f"{paragraph[start.start() :].rstrip()} {paragraphs[number + 1].lstrip()}"
            paragraph = paragraph[: start.start()]
            start = None
        if start is None:
            kept += [paragraph] if paragraph.strip() else []
            continue
        trailers = _breaking(paragraph[start.start() :]) + trailers
        if before := paragraph[: start.start()].rstrip():
            kept.append(before)
    return "\n\n".join(kept).rstrip().lstrip("\n"), tuple(trailers)


def is_nothing(value: str) -> bool:
    """Return whether a value means "none", as in filled-in templates."""
    return not re.search(r"\w", value) or bool(_NOTHING.match(value))


def _as_trailers(paragraph: str) -> list[Trailer] | None:
    found: list[Trailer] = []
    known = False
    for line in paragraph.splitlines():
        match = _TRAILER.match(line)
        if match:
            known = known or bool(_LIKELY.match(match["key"]))
            found.append((match["key"], match["value"].strip()))
        elif found and (line.startswith((" ", "\t")) or found[-1][0].upper().startswith("BREAKING")):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".strip())
        elif not line.startswith("(cherry picked from commit ") and line.strip("- "):
            return None
        else:
            known = known or line.startswith("(cherry")
    return found if known or not paragraph.strip() else None


def _breaking(text: str) -> list[Trailer]:
    found: list[Trailer] = []
    for line in text.splitlines():
        match = _TRAILER.match(line)
        if found and not (match and _LIKELY.match(match["key"])):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".strip())
        elif match:
            found.append((match["key"], match["value"].strip()))
        else:
            found.append(("BREAKING CHANGE", line.partition(":")[2].strip()))
    return found


def co_authors(message: str) -> list[tuple[str, str]]:
    found = [(match["name"].strip(), match["email"].strip()) for match in _CO_AUTHOR.finditer(message)]
    return list(dict.fromkeys(found))
