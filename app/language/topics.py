"""Classification of facts by the configured topics."""

import re
from collections.abc import Sequence

from app.language.facts import DETAILS, INSTRUCTIONS, PERSONAL, PREFERENCES, Topic
from app.language.text import content, straight
from app.language.tongues import PHRASES

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\-]+")
_FEW = 3
"""One shared word suffices for a description of at most this many words; a longer one needs two."""


def effective(configured: Sequence[Topic], allowed: Sequence[Topic]) -> tuple[Topic, ...]:
    """Return the configured topics that a request allows; a request without topics allows all."""
    return tuple(topic for topic in configured if not allowed or topic in allowed)


def classify(
    fact: str, topics: Sequence[Topic], *, tongue: str, explicit: bool
) -> tuple[Topic, ...]:
    """Return the topics that the fact belongs to, in the order of `topics`.

    `explicit`: the person asked the service to remember the fact.
    """
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
