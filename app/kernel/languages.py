"""Languages of texts, and the names of their text-search configurations in Postgres."""

from enum import StrEnum


class Language(StrEnum):
    """A language that Postgres can stem, by its ISO 639-1 code."""

    SIMPLE = "simple"
    """Any other language: words are not stemmed."""
    AR = "ar"
    CA = "ca"
    DA = "da"
    DE = "de"
    EL = "el"
    EN = "en"
    ES = "es"
    ET = "et"
    EU = "eu"
    FI = "fi"
    FR = "fr"
    GA = "ga"
    HI = "hi"
    HU = "hu"
    HY = "hy"
    ID = "id"
    IT = "it"
    LT = "lt"
    NE = "ne"
    NL = "nl"
    NO = "no"
    PT = "pt"
    RO = "ro"
    RU = "ru"
    SR = "sr"
    SV = "sv"
    TA = "ta"
    TR = "tr"
    YI = "yi"

    @property
    def configuration(self) -> str:
        """The name of the text-search configuration; Postgres 15 has each of them."""
        return _CONFIGURATIONS[self]


_CONFIGURATIONS = {
    Language.SIMPLE: "simple",
    Language.AR: "arabic",
    Language.CA: "catalan",
    Language.DA: "danish",
    Language.DE: "german",
    Language.EL: "greek",
    Language.EN: "english",
    Language.ES: "spanish",
    Language.ET: "estonian",
    Language.EU: "basque",
    Language.FI: "finnish",
    Language.FR: "french",
    Language.GA: "irish",
    Language.HI: "hindi",
    Language.HU: "hungarian",
    Language.HY: "armenian",
    Language.ID: "indonesian",
    Language.IT: "italian",
    Language.LT: "lithuanian",
    Language.NE: "nepali",
    Language.NL: "dutch",
    Language.NO: "norwegian",
    Language.PT: "portuguese",
    Language.RO: "romanian",
    Language.RU: "russian",
    Language.SR: "serbian",
    Language.SV: "swedish",
    Language.TA: "tamil",
    Language.TR: "turkish",
    Language.YI: "yiddish",
}


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
