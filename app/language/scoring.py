"""The topics of a text, as configured, and its share of words worth remembering.

A hand-written sum, with each weight rounded to a quarter. Measured by `benchmarks/extraction`.
"""

import math
import re
from collections.abc import Sequence

from app.language.facts import DETAILS, INSTRUCTIONS, PERSONAL, PREFERENCES, Topic
from app.language.lexicon import language
from app.language.phrases import Phrases, any_case
from app.language.text import content, straight
from app.language.tongues import FIRST_ELSEWHERE, PHRASES

_TIME = any_case(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|since|recently|lately|just|week\w*"
    r"|month\w*"
    r"|years?|summer|winter|spring|fall|autumn|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?s?\b"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|\b(?:gestern|heute|morgen|letzte\w*|nächste\w*|woche\w*|monat\w*|jahr\w*|seit)\b"
    r"|\b(?:ayer|hoy|mañana|semana\w*|mes(?:es)?|años?|pasad[oa]|próxim[oa]|desde)\b"
    r"|\b(?:hier|demain|semaine\w*|mois|ans?|année\w*|derni\w+|prochaine?|depuis)\b"
)
_NUMBER = any_case(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|hundred)\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}")
_QUOTE = re.compile(r"[\"\u201c\u201d\u00ab\u00bb]")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
WORTH_KEEPING = 1.5
"""Scores below this are small talk; at this value, the bundled conversations lose no fact."""


def score(text: str) -> float:
    """Return the score of a text: higher for more content about its writer, below zero for talk.

    Its parts are scored separately, and the best part has the greatest weight.
    """
    plain = straight(text)
    tongue = language(plain, "en")
    parts = sorted(
        (_part(part, tongue) for part in _SENTENCE.findall(plain[:20_000])), reverse=True
    )
    if not parts:
        return 0.0
    return parts[0] + 0.5 * sum(part for part in parts[1:4] if part > 0) + _length(plain, tongue)


def _length(text: str, tongue: str) -> float:
    return 0.5 * math.log1p(len(content(text, tongue)))


def _part(text: str, tongue: str) -> float:
    text = text.strip()
    phrases = PHRASES.get(tongue)
    if phrases is None:
        return 1.0 if FIRST_ELSEWHERE.search(text) else 0.0
    return _statement_weight(text, phrases) + _exact(text) - _empty(text, phrases)


def _statement_weight(text: str, phrases: Phrases) -> float:
    return (
        0.5 * bool(phrases.first.search(text))
        + 1.5 * bool(phrases.preference.search(text))
        + 0.75 * bool(phrases.personal.search(text))
        + 1.0 * bool(phrases.event.search(text))
    )


def _exact(text: str) -> float:
    return (
        1.25 * bool(_TIME.search(text))
        + 1.25 * bool(_NUMBER.search(text))
        + 0.5 * min(2, len(_NAME.findall(text)))
        + 0.5 * bool(_QUOTE.search(text))
    )


def _empty(text: str, phrases: Phrases) -> float:
    asks = text.endswith("?") or bool(phrases.asking.search(text))
    return (
        2.0 * asks
        + 1.0 * bool(phrases.talk.search(text))
        + 1.0 * bool(phrases.second.search(text) and not phrases.first.search(text))
    )


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\-]+")
_FEW = 3
"""One shared word suffices for a description of at most this many words; a longer one needs two."""


def effective(configured: Sequence[Topic], allowed: Sequence[Topic]) -> tuple[Topic, ...]:
    """Return the configured topics that a request allows; a request without topics allows all."""
    return tuple(topic for topic in configured if not allowed or topic in allowed)


def classify(
    fact: str, topics: Sequence[Topic], *, tongue: str, explicit: bool
) -> tuple[Topic, ...]:
    """Return the topics that the fact belongs to, in the order of `topics`."""
    managed = _managed(straight(fact), tongue, explicit=explicit)
    return tuple(
        topic for topic in topics if topic in managed or (not topic.managed and _about(fact, topic))
    )


def _managed(fact: str, tongue: str, *, explicit: bool) -> set[Topic]:
    topics = {INSTRUCTIONS} if explicit else set()
    phrases = PHRASES.get(tongue)
    if phrases is None:
        return topics | {PERSONAL, PREFERENCES, DETAILS}  # no phrases distinguish them
    if phrases.always.search(fact):
        topics |= {INSTRUCTIONS, PREFERENCES}
    if phrases.preference.search(fact):
        topics.add(PREFERENCES)
    if phrases.personal.search(fact):
        topics.add(PERSONAL)
    if phrases.event.search(fact) or not topics:
        topics.add(DETAILS)
    return topics


def _about(fact: str, topic: Topic) -> bool:
    """Return True if the fact shares a word with the label, or enough with the description."""
    stems = content(fact)
    if stems & content(_CAMEL.sub(" ", topic.label), "en"):
        return True
    description = content(topic.description)
    return len(stems & description) >= (1 if len(description) <= _FEW else 2)
