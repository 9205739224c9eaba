"""British to American spelling, for queries and records alike.

A word with one spelling may change ("promise" to "promize"): harmless while no two words become the same and none
leaves its inflections.
"""

import re
from functools import lru_cache

from stores.language.wording import without_accents

_SHORTEST, _LONGEST = 4, 40
"""Letters."""
_WORD = re.compile(rf"[^\W\d_]{{{_SHORTEST},}}")

_OUR = (
    "arb|ard|arm|behavi|cand|clam|clang|col|demean|enam|endeav|fav|ferv|flav|harb|hon|hum|lab|neighb|od|parl|ranc|rig"
    "|rum|sav|savi|splend|succ|tum|val|vap|vig"
)
_RE = "cent|fib|goit|lit|lust|meag|met|sab|somb|spect|theat|tit"
_ENDINGS = r"(?=(?:e[drs]?|ers|edly|ings?|ingly|ements?|als?|abl[ey]|abilit(?:y|ies)|ations?|ational|ationally)$)"
_AE = (
    "(?<=an)ae(?=m|sth|rob)|(?<=h)ae(?=m)|(?<=[a-z])ae(?=mi[ac])|^ae(?=sthe|tiolog)|(?<=p)ae(?=di|do)|(?<=f)ae(?=c)"
    "|(?<=c)ae(?=sar[ei]|sium|cum|cal)|(?<=arch)ae(?=o)|(?<=pal)ae(?=o)|(?<=gyn)ae(?=co)|(?<=edi|rim)ae(?=v)|(?<=him)ae(?=r)"
)
_DOUBLED = (
    "cancel|channel|counsel|dial|fuel|initial|label|level|marshal|medal|model|panel|signal|total|travel|trial|tunnel"
)

_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # colour, favourite, neighbourhood
        (rf"({_OUR})our", r"\1or"),
        (r"^practis", "practic"),
        # optimise, serialisation, criticise; but not precise, revise, likewise, advertise, expertise and paradise
        (rf"(?:(?<=[a-z]{{2}}[a-bd-uxyz]i)(?<!adverti)(?<!experti)(?<!paradi)(?<!franchi)|(?<=ici))s{_ENDINGS}", "z"),
        # analyse, hydrolysate
        (r"(?<=[a-z]ly)s(?=(?:e[drs]?|ers|ing|able|ates?)$)", "z"),
        # anaemia, haemorrhage, paediatric, caesarean; but neither Caesar, daemon and Michael nor a plural
        (_AE, "e"),
        # oedema, oestrogen, foetus, diarrhoea, coeliac, homoeopathy, manoeuvre
        (r"^oe(?=[sd])|(?<=f)oe(?=t)|(?<=rrh)oe(?=as?$)|(?<=c)oe(?=li)|(?<=hom)oe(?=o)|(?<=man)oe(?=uv)", "e"),
        # centre, centimetres, manoeuvred, centreline
        (rf"({_RE}|maneuv)re(?=s?$)", r"\1er"),
        (rf"({_RE}|maneuv)r(?=ed$|ing$)|(maneuv)r(?=ab)", r"\1\2er"),
        (r"^(cent|fib)re(?=[bcfglpw])", r"\1er"),
        # catalogue, but not vogue, brogue and prologue
        (r"(?<=[a-z]{3}og)(?<!prolog)u(?=(?:e[drs]?|ers|ing)$)", ""),
        # labelled, modelling, counsellor
        (rf"^({_DOUBLED})l(?=[ei]|ors?$)", r"\1"),
        # fulfil, enrolment, skilful
        (r"^(fulfil|enrol|distil|skil|wil)(?=s?$|ful|ment)", r"\1l"),
        # licence, defence
        (r"(?<=licen|defen|offen)c(?=e[ds]?$|ing$)|(?<=preten)c(?=es?$)", "s"),
        # program and programme have programmers
        (r"^(re)?programm(?=[aei])", r"\1program"),
        (r"gramme(?=s?$)", "gram"),
        # judgement, acknowledgement, sizeable
        (r"(?<=judg|ledg)e(?=ment)|(?<=siz|lik|mov|sal)e(?=ables?$)", ""),
        (r"sulph", "sulf"),
        (r"mould", "mold"),
        (r"^grey", "gray"),
        (r"^artefact", "artifact"),
        (r"^ageing$", "aging"),
        (r"^queuing$", "queueing"),
        (r"^focuss", "focus"),
        (r"^sceptic", "skeptic"),
        (r"^alumini(?=um$)", "alumin"),
        (r"^enquir", "inquir"),
        (r"^jewellery", "jewelry"),
        (r"^disc(?=s?$)", "disk"),
    )
)


def in_one_spelling(text: str) -> str:
    """Respell every word. Idempotent. Respelt words lose case and accents."""
    return _WORD.sub(lambda word: _respelt(word.group()), text)


@lru_cache(maxsize=32_768)
def _respelt(word: str) -> str:
    if len(word) > _LONGEST or not (plain := without_accents(word.lower())).isascii():
        return word
    spelt, before = plain, ""
    while spelt != before:
        before = spelt
        for pattern, replacement in _RULES:
            spelt = pattern.sub(replacement, spelt)
    return word if spelt == plain else spelt
