"""Conversion of English statements from the first person to "the user", as far as it is safe."""

import re

from app.language.lexicon import word_set
from app.language.phrases import any_case
from app.language.text import straight

_VERBS = {
    "am": "is",
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "haven't": "hasn't",
    "was": "was",
}
_UNCHANGED = word_set("""
    will would can could may might must should shall cannot can't won't wouldn't couldn't
    shouldn't didn't wasn't hadn't had did went got met saw came took made bought broke lost won
    sold left felt found gave grew heard held kept knew led paid put read ran said sat sent
    spent stood taught thought told understood woke wore wrote began became chose drove ate fell
    flew forgot built quit hurt cut let set
    """)
_ADVERB = (
    r"(?:(?:also|now|just|still|always|never|often|usually|recently|really|actually|currently|only"
    r"|sometimes|\w+ly) )*"
)
_FIRST = re.compile(
    rf"(?<![\w/])I(?P<short>'m|'ve|'d|'ll)?(?![\w/])(?P<adverbs> {_ADVERB}| )(?P<verb>[a-z']+)?"
)
_SHORT = {"'m": " is", "'ve": " has", "'d": " would", "'ll": " will"}
_LATER = (
    (re.compile(r"\bI'm\b"), "they are"),
    (re.compile(r"\bI am\b"), "they are"),
    (re.compile(r"\bI was\b"), "they were"),
    (re.compile(r"(?<![\w/])I('ve|'d|'ll)?(?![\w/])"), r"they\1"),
    (any_case(r"\bmyself\b"), "themselves"),
    (any_case(r"\bmine\b"), "theirs"),
    (any_case(r"\bmy\b"), "their"),
    (any_case(r"\bme\b"), "them"),
)
_MY = any_case(r"\Amy\b")


_BY_NOBODY = re.compile(r"\b(?:[Ww]e|us|[Oo]urs?|ourselves)\b|\bI'd (?:been|better|\w+ed)\b")
"""Words that include people other than the user, or are ambiguous."""
_LEFT = any_case(r"(?<![\w/])(?:I|I'\w+)(?![\w/])|\b(?:me|my|mine|myself)\b")
_COMMON = (
    r"live|work|like|love|hate|prefer|eat|drink|use|play|speak|study|teach|have|own|drive|go|run"
    r"|sing"
    r"|write|read|cook|travel|need|want|take|make|do|am|walk|swim|sleep|watch|listen|volunteer"
    r"|train"
    r"|enjoy|smoke|keep|get|know|cycle|commute|paint|collect|avoid|suffer|rent|grow|bake|ride"
)
_JOINED = re.compile(
    rf"(?P<join>(?:,| and| or| but|, and|, but)(?: (?:also|now|still|never|always|usually"
    rf"|often))? )"
    rf"(?P<verb>{_COMMON})\b(?= )(?! (?:is|are|was)\b)"
)
_PLURAL = re.compile(r"\bthey (?P<adverbs>(?:\w+ly )?)(?P<verb>is|has|does)\b")


def third_person(fact: str) -> str:
    """Return the statement about "the user", or "" if part of it cannot be converted.

    A statement with neither "I" nor "my" is returned unchanged.
    """
    plain = straight(fact)
    if not _LEFT.search(plain) and not _BY_NOBODY.search(plain):
        return fact
    if _BY_NOBODY.search(plain):
        return ""
    converted = _converted(plain)
    return "" if _LEFT.search(converted) or _PLURAL.search(converted) else converted


def _converted(plain: str) -> str:
    if _MY.match(plain):
        return "The user's" + _later(plain[2:])
    first = _FIRST.search(plain)
    if first is None:
        return re.sub(r"\bme\b", "the user", re.sub(r"\bmy\b", "the user's", plain))
    subject = "The user" if first.start() == 0 else "the user"
    rest = _JOINED.sub(_also, plain[first.end() :]) if _is_present(first) else plain[first.end() :]
    return _later(plain[: first.start()]) + subject + _verb(first) + _later(rest)


def _is_present(first: re.Match[str]) -> bool:
    verb = first["verb"] or ""
    return (first["short"] or "'m") == "'m" and verb not in _UNCHANGED and not verb.endswith("ed")


def _also(joined: re.Match[str]) -> str:
    return joined["join"] + _conjugated(joined["verb"])


def _verb(first: re.Match[str]) -> str:
    verb = first["verb"] or ""
    if first["short"]:
        return _SHORT[first["short"].lower()] + first["adverbs"] + verb
    return first["adverbs"] + _conjugated(verb)


def _conjugated(verb: str) -> str:
    if verb in _VERBS or verb in _UNCHANGED or not verb:
        return _VERBS.get(verb, verb)
    if verb.endswith("ed") and len(verb) > 4:
        return verb
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in set("aeiou"):
        return verb[:-1] + "ies"
    return verb + "s"


def _later(text: str) -> str:
    for pattern, other in _LATER:
        text = pattern.sub(other, text)
    return text
