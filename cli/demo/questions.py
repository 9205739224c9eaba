"""Questions of the demo: fixed ones, and ones made from headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cli.demo.corpus import Corpus
from tools.entities.chunking import chunks

FROM_HEADINGS = 2
GENERIC = frozenset({
    "about", "abstract", "acknowledgements", "added", "appendix", "background", "changed", "changelog", "conclusion",
    "contents", "contributing", "credits", "description", "examples", "faq", "features", "fixed", "getting started",
    "history", "index", "installation", "introduction", "license", "licence", "links", "notes", "overview",
    "quick start", "quickstart", "readme", "references", "removed", "requirements", "see also", "summary",
    "table of contents", "todo", "unreleased", "usage",
})  # fmt: skip
"""Headings of many documents."""

ASKING = frozenset({"are", "can", "do", "does", "how", "is", "should", "what", "when", "where", "which", "who", "why"})
"""First words of headings that are questions already."""
_NUMBER = re.compile(r"^[0-9]+(\.[0-9]+)*[.)]?\s+")


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    shows: str
    answered: bool = True
    """False if nothing answers it: the score must be low."""


KNOWLEDGE: tuple[Question, ...] = (
    Question("Which database keeps the ledger, and why that one?", "a decision that retired an older one"),
    Question("Can I safely repeat a request when the network failed?", "found by meaning, in quite other words"),
)
REPOSITORY = Question("How do I back up and restore the ledger?", "this repository's own documentation")
OFF_TOPIC = Question("How long does sourdough bread rest before baking?", "nobody wrote about it", answered=False)

AGENT_QUESTION = "Who may read what I remember in private?"


def questions_from(corpus: Corpus, *, most: int = FROM_HEADINGS) -> list[Question]:
    """Ask about one section of each of the largest documents; without headings, about their first words."""
    largest = sorted(corpus.texts, key=lambda text: (-len(text.content), text.path))
    found: dict[str, Question] = {}
    for text in largest:
        heading = next(_telling_headings(text.content), None) or _first_words(text.content)
        if heading is not None and heading.lower() not in found:
            found[heading.lower()] = Question(_asked(heading), f"a section of {text.path}")
        if len(found) == most:
            break
    return list(found.values())


def _asked(heading: str) -> str:
    if heading.split()[0].lower() in ASKING:
        return f"{heading}?"
    return f"What do we know about {heading}?"


def _telling_headings(content: str) -> Iterator[str]:
    paths = [piece.heading_path for piece in chunks(content) if piece.heading_path]
    for path in sorted(dict.fromkeys(paths), key=lambda path: len(path) == 1):
        heading = _NUMBER.sub("", path[-1]).strip(" .:?!*#")
        if heading.lower() not in GENERIC and 2 <= len(heading.split()) <= 10 and any(map(str.isalpha, heading)):
            yield heading


def _first_words(content: str) -> str | None:
    words = content.split()[:8]
    return " ".join(words).strip(" .,;:!?") if len(words) > 2 else None
