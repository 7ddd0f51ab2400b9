"""In which configuration a text is searched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.text import Language
from app.language.search_languages import configuration_of, foreign_language, is_function_word

CONFIGURATIONS = {language.configuration for language in Language}


@pytest.mark.parametrize(
    ("text", "configuration"),
    [
        ("I like walking in the Alps.", "english"),
        ("We met yesterday.", "english"),
        ("Melanie: Take care!", "english"),
        ("Ich wandere gern in den Alpen.", "german"),
        ("J\u2019aime marcher dans les Alpes.", "french"),
        ("Me gusta caminar por los Alpes.", "spanish"),
        ("Mi piace camminare nelle Alpi con il mio cane.", "italian"),
        ("Gosto de caminhar nos Alpes com a minha filha.", "portuguese"),
        ("Ik wandel graag met mijn hond in de Alpen.", "dutch"),
        ("Jag gillar att vandra i Alperna.", "swedish"),
        ("Pidän kävelystä, ja minä olen onnellinen.", "finnish"),
        ("Мне нравится гулять в Альпах.", "russian"),
        (
            "\u039c\u03bf\u03c5 \u03b1\u03c1\u03ad\u03c3\u03b5\u03b9",
            "greek",
        ),
        ("أحب المشي في جبال الألب", "arabic"),
        ("मुझे चाय पसंद है", "hindi"),
        ("Anna: Мне нравится гулять в Альпах.", "russian"),
    ],
)
def test_a_language_is_told_by_its_commonest_words_or_letters(
    text: str, configuration: str
) -> None:
    assert configuration_of(text) == configuration


@pytest.mark.parametrize(
    "text",
    [
        "Lubię chodzić po górach i nie jestem sam.",
        "Rád chodím po horách a jsem tam často se psem.",
        "Мені подобається гуляти в її саду.",
        "我喜欢在阿尔卑斯山散步",
        "アルプスを歩くのが好きです",
        "ฉันชอบเดิน",
        "اسم من علی است و چای می‌خواهم",
        "👍",
        "42",
        "",
    ],
)
def test_a_language_without_stems_is_searched_as_it_is_written(text: str) -> None:
    assert configuration_of(text) == "simple"


def test_a_few_latin_words_that_tell_nothing_are_read_as_english() -> None:
    assert configuration_of("Likes window seats") == "english"


@pytest.mark.parametrize(
    ("text", "known", "language"),
    [
        ("Ich wandere gern in den Alpen.", "english", "german"),
        ("Ich wandere gern in den Alpen.", "english german", None),
        ("Lubię chodzić po górach i nie jestem sam.", "english", "polish"),
        ("Мне нравится гулять в Альпах.", "english", "russian"),
        ("Москва", "english", "russian"),
        ("我喜欢在阿尔卑斯山散步", "english", "chinese"),
        ("アルプスを歩くのが好きです", "english", "japanese"),
        ("アルプスを歩くのが好きです", "english japanese", None),
        ("저는 알프스에서 걷는 것을 좋아합니다", "english", "korean"),
        ("ฉันชอบเดิน", "english", "thai"),
        # Two words are a doubt, and so is what as many words of a known language tell.
        ("Wo wohne ich?", "english", None),
        ("Wohin will Anna?", "english", None),
        ("Jag gillar det, men inte den.", "danish", "swedish"),
        ("Jeg er ikke med på den.", "danish", None),
        # Its language is not known, so that nothing is known of whether it is covered.
        ("Мені подобається гуляти в її саду.", "english", None),
        ("I like walking in the Alps.", "english", None),
        ("I like walking in the Alps.", "german", "english"),
        ("42", "english", None),
        ("", "english", None),
    ],
)
def test_a_language_is_foreign_only_beyond_doubt(
    text: str, known: str, language: str | None
) -> None:
    assert foreign_language(text, set(known.split())) == language


def test_words_that_carry_no_content_are_known() -> None:
    assert is_function_word("the")
    assert is_function_word("nicht")
    assert not is_function_word("caroline")


@given(st.text())
def test_every_text_has_a_configuration_that_postgres_has(text: str) -> None:
    assert configuration_of(text) in CONFIGURATIONS
