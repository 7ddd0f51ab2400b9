"""Statements about things with only one value at a time.

"I live in Rome" fills the slot of the residence; a later "I moved to Oslo" refills it. Slots have
the same names in all languages: a German sentence can overrule an English one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.kernel.text import fold
from app.language.lexicon import word_set
from app.language.phrases import any_case
from app.language.reported import without_reports
from app.language.slot_patterns import COLOURS, COUNTRIES, MANY, PATTERNS, SINGLE, SPELLINGS
from app.language.text import content, straight
from app.language.values import kinds_of


@dataclass(frozen=True)
class Slot:
    """A value that a person or thing has, or (`gone`) no longer has.

    `begin` and `end` enclose the value in the text, `start` and `stop` the whole statement.
    """

    key: tuple[str, ...]
    value: str
    raw: str
    begin: int
    end: int
    start: int
    stop: int
    gone: bool = False


def slots(text: str, kind: str = "") -> list[Slot]:
    """Return the slots filled by the text, of one kind or all, in the order of the patterns."""
    plain = without_reports(straight(text))
    patterns = _OF_KIND[kind] if kind else PATTERNS
    filled = [slot for name, pattern in patterns for slot in _filled(plain, name, pattern)]
    if any(slot.key[0] == "over" for slot in filled):  # "tea over coffee" is no plain preference
        filled = [slot for slot in filled if slot.key[0] != "prefer"]
    return [slot for slot in filled if slot.key[0] == kind] if kind else filled


def _of_kind(kind: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of a kind, and the patterns that can exclude it."""
    names = {kind, f"{kind}-gone"} | ({"over"} if kind == "prefer" else set())
    return tuple(pair for pair in PATTERNS if pair[0] in names)


_OF_KIND = {kind: _of_kind(kind) for kind in {name.removesuffix("-gone") for name, _ in PATTERNS}}


def _filled(text: str, kind: str, pattern: re.Pattern[str]) -> Iterator[Slot]:
    for match in pattern.finditer(text):
        groups = match.groupdict()
        value = _value(groups["value"])
        key = _key(kind.removesuffix("-gone"), groups | {"text": match.group()}, value)
        if key is None or not value:
            continue
        yield Slot(
            key,
            value,
            match["value"],
            *match.span("value"),
            *match.span(),
            gone=kind.endswith("-gone") or _is_denied(text, match),
        )


def _is_denied(text: str, match: re.Match[str]) -> bool:
    """Return True if a word before the value or immediately after it denies the value."""
    before = text[match.start() : match.start("value")]
    return bool(_DENIED.search(before) or _DENIED_AFTER.match(text, match.end("value")))


_DENIED = any_case(
    r"\b(?:not|no longer|never|nicht|kein\w*|nie|nunca|jamás|no|plus|pas|jamais|n'\w+ (?:plus"
    r"|pas))\b"
    r"|n't\b"
)
_DENIED_AFTER = any_case(r"\w*\s+(?:nicht|no more|no longer)\b")


def _value(text: str) -> str:
    words = fold(text).split()
    # Alone it is no article: French "thé" folds to "the".
    return " ".join(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)


_ARTICLES = word_set("the a an der die das el la le les")


def _key(kind: str, groups: dict[str, str | None], value: str) -> tuple[str, ...] | None:
    owner = _owner(groups)
    match kind:
        case "attribute":
            return _attribute_key(owner, groups)
        case "over":
            pair = sorted((value, _value(groups.get("other") or "")))
            return ("over", owner, *pair)
        case "residence":
            dwelling = re.match(
                r"(?:an?|my|our|his|her|their|eine?[mnr]?|un[ae]?)\b", groups["value"] or ""
            )
            return None if dwelling else ("residence", owner)
        case _:
            return (kind, owner)


def _owner(groups: dict[str, str | None]) -> str:
    """Return "self" for the speaker, written as "I" or as "the user"."""
    owner = fold(groups.get("owner") or "")
    return owner if owner and owner not in _SELF else "self"


_SELF = word_set("i we my our the user user users the users ich mein meine yo mi je j mon ma") | {
    "the user",
    "the users",
}


def _attribute_key(owner: str, groups: dict[str, str | None]) -> tuple[str, ...] | None:
    """Return one key for "my dog's name is", "my dog is called" and "mein Hund heißt"."""
    words = [SPELLINGS.get(word, word) for word in fold(groups.get("thing") or "").split()]
    words = [word for word in words if word not in _NEW]
    if words == ["number"]:
        words = ["phone", "number"]
    if len(words) > 1 and words[-1] == "name":
        words[-2] = words[-2].removesuffix("s")
    elif _CALLED.search(groups.get("text") or ""):
        words.append("name")
    return ("attribute", owner, " ".join(words)) if words else None


_NEW = word_set("new current neue neuer neues nuevo nueva nouveau nouvelle")
_CALLED = any_case(r"\b(?:called|named|heißt|se llama|s'appelle)\b")


def rivals(new: Slot, old: Slot) -> bool:
    """Return True if the older statement cannot be true together with the newer one."""
    if new.key != old.key or (new.gone and old.gone):
        return False
    alike = _alike(new.value, old.value)
    if new.gone or old.gone:
        return alike
    return not alike and _exclusive(new, old)


def restates(new: Slot, old: Slot) -> bool:
    """Return True if both statements give the same value."""
    return new.key == old.key and new.gone == old.gone and new.value == old.value


def _alike(value: str, other: str) -> bool:
    """Return True if one value only extends the other ("Rome", "Rome, Italy")."""
    first, second = set(value.split()), set(other.split())
    return first <= second or second <= first


def _exclusive(new: Slot, old: Slot) -> bool:
    match new.key[0]:
        case "residence":
            return (new.value in COUNTRIES) == (old.value in COUNTRIES)
        case "attribute":
            return _attribute_exclusive(new, old)
        case "prefer":
            return _same_head(new.value, old.value)
        case _:
            return True


def _attribute_exclusive(new: Slot, old: Slot) -> bool:
    """Return True if the thing has one value: a birthday, a colour, two values of one kind."""
    thing = new.key[2].split()
    if any(word in MANY for word in thing):
        return False
    kinds = _kind(new), _kind(old)
    if any(word in SINGLE or word.startswith("lieblings") for word in (thing[0], thing[-1])):
        return (kinds[0] == "number") == (kinds[1] == "number")
    if kinds[0] == kinds[1] == "number":
        return bool(kinds_of(new.raw) & kinds_of(old.raw))
    return kinds[0] == kinds[1] != "other"


_CONDITION = re.compile(
    r"\b(?:on|in|for|at|when|during|auf|bei|beim|im|für|en|para|sur|pour|dans)\b"
)


def _same_head(new: str, old: str) -> bool:
    """Return True if two preferences are choices of one kind: "aisle seats", "window seats"."""
    (new_thing, new_when), (old_thing, old_when) = _conditioned(new), _conditioned(old)
    if not new_thing or not old_thing or (new_when and new_when != old_when):
        return False
    return new_thing[-1] == old_thing[-1] or new_thing[0] == old_thing[0]


def _conditioned(value: str) -> tuple[list[str], str]:
    """Split "aisle seats on long flights" into the singular thing and its condition."""
    match = _CONDITION.search(value)
    thing, when = (value[: match.start()], value[match.start() :]) if match else (value, "")
    return [word.removesuffix("s") for word in thing.split()], when


def _kind(slot: Slot) -> str:
    if re.search(r"\d", slot.raw):
        return "number"
    if set(slot.value.split()) & COLOURS:
        return "colour"
    if re.match(
        r"(?:on |am |el |le )?(?:mon|tues|wednes|thurs|fri|satur|sun)day", slot.raw, re.IGNORECASE
    ):
        return "day"
    if slot.raw[:1].isupper():
        return "name"
    return "other"


def besides(text: str, slot: Slot) -> frozenset[str]:
    """Return the stems of the text outside the slot, without words of time and change."""
    rest = f"{text[: slot.start]} {text[slot.stop :]}"
    return frozenset(stem for stem in content(rest) if stem not in _PASSING and not stem.isdigit())


_PASSING = word_set("""
    now since year years month month week for currently recently actually anymore longer instead
    jetzt seit jahr jahren monat inzwisch mittlerweil ahora desde ano anos mes meses actual
    maintenant depuis ans an moi last next ago new old curr recent actual day day mor yea mont
    wee
    """)
