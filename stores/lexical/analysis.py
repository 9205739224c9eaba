"""How text becomes terms: the same for records and for questions, so that what is written can be found."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from stores.language.spelling import in_one_spelling
from stores.language.stop_words import STOP_WORDS
from stores.language.wording import comparable

LONGEST_TERM_BYTES = 255
LONGEST_NAME = 1_000
"""Characters; a longer question is nobody's name."""

# A boundary inside a word: camelCase, an acronym before a word, letters next to digits.
_SUBTOKEN_END = re.compile(r"([a-z](?=[A-Z0-9])|[A-Z](?=[0-9]|[A-Z][a-z])|[0-9](?=[A-Za-z]))")
# The s of several, as in PDFs: no stemmer takes it from what has no vowel. Within a word, as in getIDsFromURL, it may
# begin another: JSONAsText, JSONIsValid.
_PLURAL = re.compile(r"(?<=[A-Z][A-Z])s(?![A-Za-z0-9])|(?:(?<=[A-Z][B-HJ-Z])|(?<=API|CLI|GUI|URI))s(?=[A-Z])")
_ACRONYMS = re.compile(r"\b[A-Z]{2,}s\b", re.ASCII)
# Scripts that are written without spaces: Thai, Lao, Myanmar, Khmer, kana, Han, Hangul.
_UNSPACED = (
    "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1780-\u17d3\u3005\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_SINGLE_UNSPACED = re.compile(f"[{_UNSPACED}]")
_PIECES = re.compile(r"[\s,;:()\[\]{}<>\"'`“”\u2018\u2019«»…=|&*!?/\\]+")
_NAMES = re.compile(r"\w+")
_TRIMMED = ",;:()[]{}<>\"'`“”\u2018\u2019«»…=|&*!?"
# Whether a character is shown as text or as a picture; code in a heading.
_FORMS = re.compile("[\ufe0e\ufe0f`]")
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|«([^»]+)»')

Step = Literal["exact", "splits", "stems"]
"""What an analysis can go without, to measure what it adds: tokens as they are written, the words inside of
identifiers, the stems of words."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """How the text of an index becomes terms, and the questions that it is asked."""

    without: frozenset[Step] = frozenset()

    @property
    def analyser(self) -> TextAnalyzer:
        """What turns prepared text into terms; an index has to be told of it each time it is opened."""
        return _word_analyser(stems="stems" not in self.without, splits="splits" not in self.without)

    def prepare(self, text: str) -> str:
        """Normalise, put spaces where words end without one, and spell in one way; doing it twice changes nothing."""
        words = normalise(text).split()
        whole = " ".join(words)
        if whole.isascii():
            return in_one_spelling(self._apart(whole))
        return in_one_spelling(" ".join([word if _is_plain(word) else self._split(word) for word in words]))

    def analysed(self, prepared: str) -> list[str]:
        """The terms of a text that is prepared: in order, repeated as they are repeated, without stop words."""
        return self.analyser.analyze(prepared)

    def analyse(self, text: str) -> list[str]:
        """The terms of a text."""
        return self.analysed(self.prepare(text))

    def positions(self, text: str) -> list[tuple[int, str]]:
        """The terms of a text with their places, counting the stop words between them."""
        return [(token.position, token.text) for token in self.analyser.pre_tokenize(self.prepare(text)).tokens]

    def identifiers(self, text: str) -> list[str]:
        """The exact tokens worth an entry of their own, and every character of a script without spaces."""
        if "exact" in self.without:
            return []
        found: dict[str, None] = {}
        normal = normalise(text)
        for word in dict.fromkeys(normal.split()):
            if _is_plain(word) or _is_plain(_trim(word)):
                continue
            parts = _parts(word)
            for token in (*parts, *members(parts)):
                if not (token.isalpha() or token.isdigit()) or _is_camel_case(token):
                    _admit(token, found)
        if not normal.isascii():
            found |= dict.fromkeys(_SINGLE_UNSPACED.findall(normal))
        return list(found)

    def distinct(self, text: str) -> set[str]:
        """Everything that a text is found by."""
        return {*self.analyse(text), *self.identifiers(text)}

    def _split(self, word: str) -> str:
        if word.isascii():
            return self._apart(word)
        pieces = _UNSPACED_RUN.sub(_bigrams, word).split()
        folded = [piece if piece.isascii() else comparable(piece) for piece in pieces]
        return " ".join([self._apart(piece) if piece.isascii() else piece for piece in folded])

    def _apart(self, text: str) -> str:
        return text if "splits" in self.without else _SUBTOKEN_END.sub(r"\1 ", _PLURAL.sub("", text))


WHOLE = Analysis()
"""The analysis that leaves nothing out."""


@cache
def _word_analyser(*, stems: bool, splits: bool) -> TextAnalyzer:
    """Build what turns prepared text into terms; what splits words ends them at an underscore as well."""
    builder = (
        TextAnalyzerBuilder(Tokenizer.simple() if splits else Tokenizer.regex(r"\w+"))
        .filter(Filter.remove_long(LONGEST_TERM_BYTES))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.custom_stopword(list(STOP_WORDS)))
    )
    return (builder.filter(Filter.stemmer("english")) if stems else builder).build()


@cache
def token_analyser() -> TextAnalyzer:
    """Build what splits the exact field, which is written with spaces between its tokens."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def normalise(text: str) -> str:
    """Bring compatible characters to one form and replace lone surrogates, which no engine takes."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())


def written_tokens(text: str) -> list[str]:
    """Every token as written, lower-cased, and the pieces of paths, calls and assignments; distinct, in order."""
    found: dict[str, None] = {}
    for word in dict.fromkeys(normalise(text).split()):
        for token in _parts(word):
            _admit(token, found)
    return list(found)


def members(tokens: Iterable[str]) -> list[str]:
    """The names inside of tokens: both of `self.add_node`, that of `@add_node`; none of a version, such as `v2.4.1`."""
    found: list[str] = []
    for token in tokens:
        names = _NAMES.findall(token)
        if names != [token] and not any(name[0].isdigit() for name in names):
            found += names
    return found


def is_single_unspaced(term: str) -> bool:
    """Whether a term is one character of a script without spaces, which only the exact field holds everywhere."""
    return _SINGLE_UNSPACED.fullmatch(term) is not None


def name_key(text: str) -> str:
    """What a record's name and a question are compared by; empty where there is nothing to compare.

    Case, spacing, forms of emoji, backticks, and quotes around the whole count for nothing.
    """
    whole = _FORMS.sub("", comparable(" ".join(normalise(text).split())))
    quote = _QUOTED.fullmatch(whole)
    key = next(filter(None, quote.groups())).strip() if quote else whole
    return key if len(key) <= LONGEST_NAME else ""


def quoted(text: str) -> list[str]:
    """The phrases that stand in quotation marks."""
    return [next(filter(None, found)) for found in _QUOTED.findall(text)]


def several(text: str) -> set[str]:
    """The acronyms that stand in a text in the plural, in small letters: each is a word, and no spelling of its own."""
    return {found.lower() for found in _ACRONYMS.findall(text)}


def _bigrams(run: re.Match[str]) -> str:
    characters = run.group()
    pairs = [characters[at : at + 2] for at in range(len(characters) - 1)] or [characters]
    return f" {' '.join(pairs)} "


def _parts(word: str) -> list[str]:
    """The word without the punctuation around it, and its pieces if it has several."""
    trimmed = _trim(word)
    pieces = _PIECES.split(trimmed)
    return [trimmed, *map(_trim, pieces)] if len(pieces) > 1 else [trimmed]


def _trim(token: str) -> str:
    return token.strip(_TRIMMED).rstrip(".")


def _admit(token: str, found: dict[str, None]) -> None:
    if any(map(str.isalnum, token)):
        lowered = comparable(token)
        if len(lowered.encode()) < LONGEST_TERM_BYTES:
            found[lowered] = None


def _is_plain(word: str) -> bool:
    """Whether a word is what most are: Latin letters, none of them a capital but the first."""
    return word.isascii() and word.isalpha() and (word.islower() or word.istitle())


def _is_camel_case(token: str) -> bool:
    return token[1:] != token[1:].lower() and token != token.upper()
