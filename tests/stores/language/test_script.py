import pytest

from stores.language.wording import is_latin


@pytest.mark.parametrize(
    "text", ["restart", "Über", "Łódź", "Việt", "e\u0301te\u0301", "42", "β-catenin", "naïve 猫", "x²", "ß", "Ærø"]
)
def test_letters_of_any_accent_and_digits(text: str) -> None:
    assert is_latin(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "!?", "🎉", "☃", "крокодил", "猫", "السيارة", "कुत्ता", "\U0001d518", "٤٢", "μουσική",
     "GitHub упал вчера"],
)  # fmt: skip
def test_other_letters_and_none(text: str) -> None:
    assert not is_latin(text)


def test_the_beginning_of_a_long_text_counts() -> None:
    assert is_latin("é" * 2_000 + "к" * 1_000_000)
