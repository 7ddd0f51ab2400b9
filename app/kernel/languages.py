"""Languages of texts, and the names of their text-search configurations in Postgres."""

from enum import StrEnum
from typing import Self


class Language(StrEnum):
    """A language that Postgres can stem, by its ISO 639-1 code."""

    configuration: str
    """The name of the text-search configuration; Postgres 15 has each of them."""

    def __new__(cls, code: str, configuration: str) -> Self:
        """Make a member of its code and its configuration."""
        language = str.__new__(cls, code)
        language._value_ = code
        language.configuration = configuration
        return language

    SIMPLE = "simple", "simple"
    """Any other language: words are not stemmed."""
    AR = "ar", "arabic"
    CA = "ca", "catalan"
    DA = "da", "danish"
    DE = "de", "german"
    EL = "el", "greek"
    EN = "en", "english"
    ES = "es", "spanish"
    ET = "et", "estonian"
    EU = "eu", "basque"
    FI = "fi", "finnish"
    FR = "fr", "french"
    GA = "ga", "irish"
    HI = "hi", "hindi"
    HU = "hu", "hungarian"
    HY = "hy", "armenian"
    ID = "id", "indonesian"
    IT = "it", "italian"
    LT = "lt", "lithuanian"
    NE = "ne", "nepali"
    NL = "nl", "dutch"
    NO = "no", "norwegian"
    PT = "pt", "portuguese"
    RO = "ro", "romanian"
    RU = "ru", "russian"
    SR = "sr", "serbian"
    SV = "sv", "swedish"
    TA = "ta", "tamil"
    TR = "tr", "turkish"
    YI = "yi", "yiddish"


_WITHOUT_STEMS = {
    "cs": "czech",
    "he": "hebrew",
    "ja": "japanese",
    "ko": "korean",
    "pl": "polish",
    "th": "thai",
    "vi": "vietnamese",
    "zh": "chinese",
}
NAMES = {lang.value: lang.configuration for lang in Language if lang is not Language.SIMPLE}
NAMES |= _WITHOUT_STEMS
"""Names of languages by ISO 639-1 code, equal to the name of a Postgres configuration if any."""
CODES = {name: code for code, name in NAMES.items()}
"""Codes of languages by their names."""
