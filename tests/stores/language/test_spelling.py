"""British and American spellings of a word find each other, and no two words become the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.language.spelling import in_one_spelling
from stores.lexical.analysis import analyse

PAIRS = [
    ("behaviour of coloured neighbourhoods", "behavior of colored neighborhoods"),
    ("Serialise, deserialising and INITIALISATION", "serialize, deserializing and initialization"),
    ("criticised organisational optimisability", "criticized organizational optimizability"),
    ("analysed by a catalyser", "analyzed by a catalyzer"),
    ("anaemia, haemorrhage and leukaemia", "anemia, hemorrhage and leukemia"),
    ("oedema, oestrogen, foetus, diarrhoea, manoeuvres", "edema, estrogen, fetus, diarrhea, maneuvers"),
    ("œstrogen in a fœtus", "estrogen in a fetus"),
    ("centre, centred, centring, centrepiece, kilometres", "center, centered, centering, centerpiece, kilometers"),
    ("catalogue, catalogued, dialogues", "catalog, cataloged, dialogs"),
    ("labelled, modelling, cancelled, fuelling, trialled", "labeled, modeling, canceled, fueling, trialed"),
    ("fulfils, enrolment, skilful", "fulfills, enrollment, skillful"),
    ("licence, defences, pretence, practised", "license, defenses, pretense, practiced"),
    ("sulphate, greyscale, kilogrammes, programme", "sulfate, grayscale, kilograms, program"),
    ("artefacts, ageing, sceptical, aluminium", "artifacts, aging, skeptical, aluminum"),
    ("judgement, acknowledgements, sizeable, wilful", "judgment, acknowledgments, sizable, willful"),
    ("focussed counsellors enquired, discs, moulding", "focused counselors inquired, disks, molding"),
    ("caesium, palaeolithic, orthopaedic, archaeology", "cesium, paleolithic, orthopedic, archeology"),
    ("manoeuvrable jewellery", "maneuverable jewelry"),
    ("colourMap and set_default_colour", "colorMap and set_default_color"),
]


@pytest.mark.parametrize(("british", "american"), PAIRS)
def test_either_spelling_has_the_terms_of_the_other(british: str, american: str) -> None:
    assert analyse(british) == analyse(american)


@pytest.mark.parametrize(
    ("word", "other"),
    [("daemon", "demon"), ("Michael", "Michel"), ("laevis", "Levi"), ("Caesar", "Cesar"), ("aenter", "enter"),
     ("aero", "Eros"), ("expertise", "expert"), ("prologue", "Prolog"), ("antennae", "antenn"), ("paradise", "parade"),
     ("tour", "Tor"), ("store", "storer")],
)  # fmt: skip
def test_words_that_are_not_the_same_stay_apart(word: str, other: str) -> None:
    assert analyse(word) != analyse(other)


@pytest.mark.parametrize(
    "family",
    ["precise precision precisely", "revise revision revised", "supervise supervision", "televise television",
     "advertise advertisement advertising", "algae alga", "apprised apprise", "uprising uprisings",
     "licence licencing licensing licensed", "defence defences defensive",
     "programme programmer programmable program programming", "enfranchise enfranchisement", "queue queueing queuing",
     "surprise surprisingly surprised"],
)  # fmt: skip
def test_forms_of_a_word_that_had_one_stem_keep_one(family: str) -> None:
    stems = [analyse(word) for word in family.split()]
    assert stems.count(stems[0]) == len(stems)


@pytest.mark.parametrize(
    "word", ["pour", "hour", "four", "genre", "timbre", "here", "where", "vogue", "called", "Israel"]
)
def test_what_only_looks_like_it_is_left_alone(word: str) -> None:
    assert in_one_spelling(word) == word


@given(st.text(max_size=40))
def test_what_is_not_a_word_stays_as_it_is(text: str) -> None:
    kept = "".join(character for character in text if not character.isalpha())
    assert "".join(character for character in in_one_spelling(text) if not character.isalpha()) == kept
