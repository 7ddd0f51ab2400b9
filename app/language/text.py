"""The words of a text: folded for comparison, stemmed, without function words."""

import re

from app.kernel.text import APOSTROPHES, fold
from app.language.lexicon import NEGATIONS, STOPS, language
from app.language.phrases import any_case

# Dates inserted by `dates.py`; comparisons ignore them.
_DATED = re.compile(r" \(\d{4}(?:-\d{2}){0,2}(?:/\d{4}-\d{2}-\d{2})?\)")
_STRAIGHT = str.maketrans("\u2018\u2019\u02bc`\u00b4\u2013\u2014\u00a0\u202f", "'''''--  ")
_LETTER = re.compile(r"\w")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_CONTRACTIONS = (
    (re.compile(r"\bI['\u2019]?m\b"), "I am"),
    (any_case(r"\b(I|we|you|they)['\u2019]ve\b"), r"\1 have"),
    (any_case(r"\b(I|we|you|they)['\u2019]ll\b"), r"\1 will"),
    (any_case(r"\bcan['\u2019]t\b"), "cannot"),
    (any_case(r"\bwon['\u2019]t\b"), "will not"),
    (any_case(r"n['\u2019]t\b"), " not"),
)
_SUFFIXES = {
    "en": ("ings", "ing", "ies", "ied", "es", "ed", "s", "e", "y"),
    "de": ("ern", "em", "en", "er", "es", "e", "st", "t", "s", "n"),
    "es": ("ando", "iendo", "aba", "ar", "er", "ir", "as", "es", "os", "an", "en", "a", "e", "o"),
    "fr": ("ant", "ent", "ais", "ait", "er", "ir", "es", "ez", "e", "s", "x"),
}


def straight(text: str) -> str:
    """Return the text, at the same length, with one kind of apostrophe, dash and blank."""
    return text.replace("`", "'") if text.isascii() else text.translate(_STRAIGHT)


def undated(text: str) -> str:
    """Return the fact as stated, without the dates resolved into it."""
    return _DATED.sub("", text)


def resolved(text: str) -> frozenset[str]:
    """Return the dates resolved into the fact."""
    return frozenset(_DATED.findall(text))


def key(fact: str) -> str:
    """Return the key shared by facts that differ in spelling only, resolved dates included."""
    return fold(contractions_in_full(undated(fact)))


def contractions_in_full(text: str) -> str:
    """Return the text with "I am" for "I'm" and "do not" for "don't"."""
    for pattern, full in _CONTRACTIONS:
        text = pattern.sub(full, text)
    return text


def words(text: str, tongue: str = "") -> list[str]:
    """Return the folded words in order."""
    if (tongue or language(text)) == "fr":
        text = APOSTROPHES.sub(" ", text)
    return [word for word in fold(text).split() if _LETTER.search(word)]


def stem(word: str, tongue: str) -> str:
    """Remove the commonest ending; crude, and only for comparison within one language."""
    for suffix in _SUFFIXES.get(tongue, ()):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "aeiosl":
        word = word[:-1]
    return word


def content(text: str, tongue: str = "") -> frozenset[str]:
    """Return the stems of the content words."""
    tongue = tongue or language(text)
    stops = STOPS.get(tongue, frozenset())
    content_words = (word for word in words(undated(text), tongue) if word not in stops)
    return frozenset(stem(word, tongue) for word in content_words)


def numbers(text: str) -> frozenset[str]:
    """Return the numbers written in digits, without resolved dates."""
    return frozenset(_NUMBER.findall(undated(text)))


def names(text: str) -> frozenset[str]:
    """Return the folded words with a capital that is not due to the start of a sentence."""
    capitalised = re.findall(r"(?<![.!?…]\s)(?<!^)\b[^\W\d_a-z][\w-]+", undated(text).strip())
    return frozenset(fold(word) for word in capitalised if word[0].isupper())


def negated(text: str) -> bool:
    """Return True if the statement contains a negation in any of the known languages."""
    return bool(NEGATIONS.search(text))
