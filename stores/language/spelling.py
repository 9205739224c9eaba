"""One spelling for words that have a British and an American one, so that either finds the other.

Questions and records are both brought to it. What has one spelling alone may get another here ("promise" becomes
"promize"), which harms nobody as long as no two words become the same and none parts from its own forms.
"""

import re
import unicodedata
from functools import lru_cache

_SHORTEST, _LONGEST = 4, 40
"""Letters of a word that is looked at."""
_WORD = re.compile(rf"[^\W\d_]{{{_SHORTEST},}}")
_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe"})

_OUR = (
    "arb|ard|arm|behavi|cand|clam|clang|col|demean|enam|endeav|fav|ferv|flav|harb|hon|hum|lab|neighb|od|parl|ranc|rig"
    "|rum|sav|savi|splend|succ|tum|val|vap|vig"
)
_RE = "cent|fib|goit|lit|lust|meag|met|sab|somb|spect|theat|tit"
_ENDINGS = r"(?=(?:e[drs]?|ers|edly|ing|ingly|ements?|als?|abl[ey]|abilit(?:y|ies)|ations?|ational|ationally)$)"
_DOUBLED = "cancel|channel|dial|fuel|initial|label|level|marshal|medal|model|panel|signal|total|travel|trial|tunnel"

_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # colour, favourite, neighbourhood
        (rf"({_OUR})our", r"\1or"),
        (r"^practis", "practic"),
        # optimise, serialisation, criticise; but not precise, revise, likewise, advertise and paradise
        (rf"(?:(?<=[a-z]{{2}}[a-bd-uxyz]i)(?<!adverti)(?<!paradi)|(?<=ici))s{_ENDINGS}", "z"),
        # analyse, hydrolysate
        (r"(?<=[a-z]ly)s(?=(?:e[drs]?|ers|ing|able|ates?)$)", "z"),
        # anaemia and haem, but neither daemon, Michael and laevis nor a plural
        (r"a+e(?!l|mon|vis$|[ds]?$)", "e"),
        # oedema, oestrogen, foetus, diarrhoea, coeliac, homoeopathy, manoeuvre
        (r"^oe(?=[sd])|(?<=f)oe(?=t)|(?<=rrh)oe(?=as?$)|(?<=c)oe(?=li)|(?<=hom)oe(?=o)|(?<=man)oe(?=uv)", "e"),
        # centre, centimetres, manoeuvred, centreline
        (rf"({_RE}|maneuv)re(?=s?$)", r"\1er"),
        (rf"({_RE}|maneuv)r(?=ed$|ing$)", r"\1er"),
        (r"^(cent|fib)re(?=[bcfglpw])", r"\1er"),
        # catalogue, but neither vogue nor brogue
        (r"(?<=[a-z]{3}og)u(?=(?:e[drs]?|ers|ing)$)", ""),
        # labelled, modelling, canceller
        (rf"^({_DOUBLED})l(?=[ei])", r"\1"),
        # fulfil, enrolment, skilful
        (r"^(fulfil|enrol|distil|skil)(?=s?$|ful|ment)", r"\1l"),
        # licence, defence
        (r"(?<=licen|defen|offen)ce(?=[ds]?$)|(?<=preten)ce(?=s?$)", "se"),
        (r"sulph", "sulf"),
        (r"^grey", "gray"),
        (r"gramme(?=s?$)", "gram"),
        (r"^artefact", "artifact"),
        (r"^ageing$", "aging"),
        (r"^sceptic", "skeptic"),
        (r"^alumini(?=um$)", "alumin"),
    )
)


def in_one_spelling(text: str) -> str:
    """Return the text with every word in one spelling; doing it twice changes nothing.

    A word is a run of letters, of any case and with or without accents; one that is respelt loses both.
    """
    return _WORD.sub(lambda word: _respelt(word.group()), text)


@lru_cache(maxsize=32_768)
def _respelt(word: str) -> str:
    if len(word) > _LONGEST or not (plain := _without_accents(word.lower())).isascii():
        return word
    spelt, before = plain, ""
    while spelt != before:
        before = spelt
        for pattern, replacement in _RULES:
            spelt = pattern.sub(replacement, spelt)
    return word if spelt == plain else spelt


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFKD", word.translate(_LIGATURES))
    return "".join([character for character in decomposed if not unicodedata.combining(character)])
