"""Text analysis, the same for records and questions."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from stores.language.figures import figures
from stores.language.spelling import in_one_spelling
from stores.language.wording import STOP_WORDS, folded

LONGEST_TERM_BYTES = 255
LONGEST_NAME = 1_000
"""Characters; a longer question is not compared with names."""

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
# Variation selectors of emoji, and backticks.
_FORMS = re.compile("[\ufe0e\ufe0f`]")
_BEGINNING = re.compile(r"[0-9a-f-]{7,64}|(?=.*[0-9])[0-9a-z_-]{7,64}")
_OPAQUE = re.compile(
    r"(?:[a-z]+_)*(?:(?=[a-f]*[0-9][a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[a-z]*[0-9]+[a-z]+[0-9])[0-9a-z]{10,64})"
)
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|«([^»]+)»')


@cache
def word_analyser() -> TextAnalyzer:
    """Words, lower case, no accents, no stop words, English stems."""
    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(LONGEST_TERM_BYTES))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.custom_stopword(list(STOP_WORDS)))
        .filter(Filter.stemmer("english"))
        .build()
    )


@cache
def token_analyser() -> TextAnalyzer:
    """Tokens of the exact field, separated by spaces."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def prepare(text: str) -> str:
    """Normalise, split identifiers into words, and spell in one way. Idempotent."""
    words = normalise(text).split()
    whole = " ".join(words)
    if whole.isascii():
        return in_one_spelling(_apart(whole))
    return in_one_spelling(" ".join(filter(None, [word if _is_plain(word) else _split(word) for word in words])))


def analysed(prepared: str) -> list[str]:
    """Return the terms of a prepared text, in order, with repetitions."""
    return word_analyser().analyze(prepared)


def analyse(text: str) -> list[str]:
    return analysed(prepare(text))


def positions(text: str) -> list[tuple[int, str]]:
    """Return terms with their positions; stop words count as positions."""
    return [(token.position, token.text) for token in word_analyser().pre_tokenize(prepare(text)).tokens]


def identifiers(text: str) -> list[str]:
    """Return identifiers, and every character of a script without spaces."""
    found: dict[str, None] = {}
    normal = normalise(text)
    for word in dict.fromkeys(normal.split()):
        if _is_plain(word) or _is_plain(trim(word)):
            continue
        parts = _parts(word)
        for token in (*parts, *members(parts)):
            if not (token.isalpha() or token.isdigit()) or _is_camel_case(token):
                _admit(token, found)
    if not normal.isascii():
        found |= dict.fromkeys(_SINGLE_UNSPACED.findall(normal))
    return list(found)


def distinct(text: str) -> set[str]:
    return {*analyse(text), *figures(text), *identifiers(text)}


def with_figures(parts: Sequence[str]) -> list[str]:
    """Add a part with the numbers and days of the others, in one form."""
    found = dict.fromkeys(figure for part in parts for figure in figures(part))
    return [*parts, " ".join(found)] if found else [*parts]


def normalise(text: str) -> str:
    """Normalise to NFKC; replace lone surrogates, which no engine takes."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())


def written_tokens(text: str) -> list[str]:
    """Return the lower-cased tokens, and the pieces of paths, calls and assignments."""
    found: dict[str, None] = {}
    for word in dict.fromkeys(normalise(text).split()):
        for token in _parts(word):
            _admit(token, found)
    return list(found)


def members(tokens: Iterable[str]) -> list[str]:
    """Return the names in tokens: both of `self.add_node`, none of `v2.4.1`."""
    found: list[str] = []
    for token in tokens:
        names = _NAMES.findall(token)
        if names != [token] and not any(name[0].isdigit() for name in names):
            found += names
    return found


def is_single_unspaced(term: str) -> bool:
    return _SINGLE_UNSPACED.fullmatch(term) is not None


def may_begin_opaque(token: str) -> bool:
    return _BEGINNING.fullmatch(token) is not None


def is_opaque(token: str) -> bool:
    """Return whether a token is a hash, a UUID, a generated id or a key, which its beginning finds too."""
    return _OPAQUE.fullmatch(token) is not None


def straddling(terms: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the bigrams between two others of a run in a script without spaces, with these."""
    for before, each, after in zip(terms, terms[1:], terms[2:], strict=False):
        if len(each) == 2 and before[-1] == each[0] and each[1] == after[0] and _UNSPACED_RUN.fullmatch(each):
            yield before, each, after


def name_key(text: str) -> str:
    """Return the key by which names and questions are compared, or nothing.

    Ignores case, spacing, forms of emoji, backticks, and quotes around the whole.
    """
    whole = _FORMS.sub("", folded(" ".join(normalise(text).split())))
    quote = _QUOTED.fullmatch(whole)
    key = next(filter(None, quote.groups())).strip() if quote else whole
    return key if len(key) <= LONGEST_NAME else ""


def quoted(text: str) -> list[str]:
    return [next(filter(None, found)) for found in _QUOTED.findall(text)]


def several(text: str) -> set[str]:
    """Return the plural acronyms, in lower case: they are words, not identifiers."""
    return {found.lower() for found in _ACRONYMS.findall(text)}


def trim(token: str) -> str:
    """Strip quotes, brackets and punctuation around a token."""
    return token.strip(_TRIMMED).rstrip(".")


def _split(word: str) -> str:
    if word.isascii():
        return _apart(word)
    pieces = _UNSPACED_RUN.sub(_bigrams, word).split()
    alike = [piece if piece.isascii() else folded(piece) for piece in pieces]
    return " ".join([_apart(piece) if piece.isascii() else piece for piece in alike if piece])


def _apart(text: str) -> str:
    return _SUBTOKEN_END.sub(r"\1 ", _PLURAL.sub("", text))


def _bigrams(run: re.Match[str]) -> str:
    characters = run.group()
    pairs = [characters[at : at + 2] for at in range(len(characters) - 1)] or [characters]
    return f" {' '.join(pairs)} "


def _parts(word: str) -> list[str]:
    trimmed = trim(word)
    pieces = _PIECES.split(trimmed)
    return [trimmed, *map(trim, pieces)] if len(pieces) > 1 else [trimmed]


def _admit(token: str, found: dict[str, None]) -> None:
    if any(map(str.isalnum, token)):
        lowered = folded(token)
        if len(lowered.encode()) < LONGEST_TERM_BYTES:
            found[lowered] = None


def _is_plain(word: str) -> bool:
    return word.isascii() and word.isalpha() and (word.islower() or word.istitle())


def _is_camel_case(token: str) -> bool:
    return token[1:] != token[1:].lower() and token != token.upper()
