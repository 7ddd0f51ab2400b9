"""Marks of words that a user may not mean of real life (pure).

A mark never drops a fact: the model is asked about it in the second call. So the marks are
generous; a wrong alarm costs some tokens.
"""

import re

from app.rules.lexicon import language
from app.rules.statements import is_talk
from app.rules.text import content, negated, straight

_LONG_LINE = 400
"""Characters; a longer line is often pasted."""


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{text})\b", re.IGNORECASE)


_MARKS = (
    # A condition or a wish.
    _words(
        r"if|would|could have|imagine|wish|suppose|pretend|hypothetical\w*|what if|dream\w*"
        r"|wenn|falls|würde\w*|wäre\w*|hätte\w*|könnte\w*|stell dir vor|angenommen|wünsch\w*"
        r"|si|ojalá|imagin\w+|quisiera|sería|tendría|tuviera|\w+ría|sueño con"
        r"|aimerais|voudrais|serais?|aurais?|supposons|rêve|\w+erais"
    ),
    re.compile(r"\b\w+'d\b", re.IGNORECASE),
    # Laughter and irony.
    _words(
        r"(?:ha){2,}h?|lol|lmao|rofl|jk|kidding|joking|(?:ja){2,}j?|mdr|ptdr|(?:hi){2,}|scherz|spaß"
        r"|witz|broma|blague|as if|yeah right|na klar|na toll|oh toll|claro que sí|bien sûr que"
    ),
    re.compile(
        r"(?:^|[.!?]\s+)\W*(?:oh,? |just |simply |ganz |qué |que )?(?:great|wonderful|fantastic"
        r"|perfect|lovely|brilliant|awesome|toll|super|klasse|prima|wunderbar|genial|perfecto"
        r"|fantástico|estupendo|parfait|formidable|génial|merveilleux)\s*[,.!:\u2026]",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?!I\b)[A-ZÄÖÜÁÉÍÓÚÑ]{3,}\b.*!|[\U0001f600-\U0001f64f\U0001f923]"),
    # Quoted or pasted text.
    re.compile(r"[\"\u201c\u201d\u201e\u00ab\u00bb`]|^\s*[>#]|\n\s*[>#]"),
    re.compile(r"\d{1,2}:\d{2}:\d{2}|\b(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|Traceback)\b"),
    _words(r"(?:kind|best|warm) regards|mit freundlichen grüßen|viele grüße|cordialement|saludos"),
    # A task over a text.
    _words(
        r"summari[sz]\w*|translat\w*|proofread\w*|rewrite|rephrase|reply to|write (?:a|an|me)|solve"
        r"|the question is|exercise|homework|for example|e\.g\.|zusammenfass\w*|fass\w*|übersetz\w*"
        r"|korrigier\w*|schreib\w*|löse|aufgabe|beispiel|resum\w*|résum\w*|traduc\w*|tradui\w*"
        r"|corrig\w*|escrib\w*|escríb\w*|resuelv\w*|ejercicio|ejemplo|écri\w*|exercice|exemple"
    ),
    # Somebody else's words.
    _words(
        r"sa(?:id|ys?)|told|tells|according to|claims?|thinks?|sagt\w*|gesagt|meint\w*|laut"
        r"|erzähl\w*|di(?:jo|ce|cen)|según|cree|dit|disent|selon|pense"
    ),
    # Not sure, or not to be kept.
    _words(
        r"maybe|perhaps|might|probably|i guess|not sure|vielleicht|womöglich|wohl|quizás?|tal vez"
        r"|a lo mejor|peut-être|sans doute"
    ),
    _words(
        r"off the record|between (?:us|you and me)|(?:don't|do not) (?:store|save|record|remember"
        r"|keep|note)|unter uns|nicht (?:speichern|merken|notieren)|entre nosotros|entre tú y yo"
        r"|no (?:guardes|anotes|recuerdes)|entre nous|(?:ne|n') ?\w+ pas (?:ça|cela)"
    ),
)
_SELF = _words(
    r"i|i'\w+|me|myself|we|us|ich|mich|mir|wir|uns|yo|mí|me|conmigo|nos|nosotr[oa]s|je|j'\w+|moi"
    r"|m'\w+|nous|on"
)
_OWN = _words(r"my|mine|our|ours|mein\w*|unser\w*|mis?|nuestr\w*|mon|ma|mes|notre|nos")
_OF_USER = re.compile(
    r"^\W*(?:(?:the|this) user(?!['\u2019])|I|we|ich|wir|yo|je|nous)\b|^\W*j['\u2019]",
    re.IGNORECASE,
)
_OF_USERS_OWN = re.compile(
    r"^\W*(?:(?:the|this) user['\u2019]s|my|our|mein|unser|mi|mon|ma)\b", re.IGNORECASE
)
_USER = frozenset({"user", "users", "us"})


def is_doubtful(fact: str, line: str, sentence: str, said: frozenset[str]) -> bool:
    """Return True if the model has to confirm a fact.

    Args:
        fact: as it was extracted.
        line: the whole of the user's line that it rests on.
        sentence: the sentences of its quote.
        said: the stems of all that it may be made from.
    """
    tongue = language(fact, language(line, "en"))
    return (
        is_marked(line, sentence)
        or negated(fact) != negated(sentence)
        or _is_of_another(fact, straight(sentence))
        or not content(fact, tongue) - _USER <= said
        or is_talk(fact, tongue)
    )


def _is_of_another(fact: str, sentence: str) -> bool:
    """Return True if a fact is about the user, but its sentence does not speak of them."""
    if _OF_USER.search(fact):
        return not _SELF.search(sentence)
    return bool(_OF_USERS_OWN.search(fact)) and not (
        _SELF.search(sentence) or _OWN.search(sentence)
    )


def is_marked(line: str, sentence: str) -> bool:
    """Return True if a line, or the sentence of a quote, may be play, irony or pasted text."""
    around = f"{straight(line)}\n{straight(sentence)}"
    return len(line) > _LONG_LINE or any(mark.search(around) for mark in _MARKS)
