"""Detection of words that a user may not mean of real life (pure).

A mark never drops a fact; the model is asked about the fact in the second call. So the marks are
generous, and a false alarm costs some tokens.
"""

import re

from app.kernel.text import fold
from app.language.lexicon import language
from app.language.sentences import CLAUSE
from app.language.statements import is_talk
from app.language.text import content, negated, straight

_LONG_LINE = 400
"""Characters; a longer line is often pasted text."""


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{text})\b", re.IGNORECASE)


_MARKS = (
    # A condition, a wish or an exaggeration.
    _words(
        r"if|would|could|imagine|wish|suppose|pretend|hypothetical\w*|dream\w*"
        r"|wenn|falls|würde\w*|wäre\w*|hätte\w*|könnte\w*|stell dir vor|angenommen|wünsch\w*"
        r"|si|ojalá|imagin\w+|quisiera|sería|tendría|tuviera|\w+ría|sueño con"
        r"|aimerais|voudrais|serais?|aurais?|supposons|rêve|\w+r(?:ais|ait|ions)"
    ),
    re.compile(r"\b\w+'d\b", re.IGNORECASE),
    # Laughter and irony: also a praise beside a mishap ("Great, another strike").
    _words(
        r"(?:ha){2,}h?|lol|lmao|rofl|jk|kidding|joking|(?:ja){2,}j?|mdr|ptdr|(?:hi){2,}|scherz|spaß"
        r"|witz|broma|blague|as if|yeah right|na klar|claro que sí|bien sûr que|bravo|xd"
    ),
    re.compile(
        r"(?:^|[.!?]\s+)\W*(?:(?:oh|ah|ach|na|ganz|echt|just|simply|how|qué|que|vaya|quel(?:le)?)"
        r",? )*(?:great|wonderful|fantastic|perfect|lovely|brilliant|awesome|toll|super|klasse"
        r"|prima|wunderbar|genial|perfecto|fantástico|estupendo|maravill\w+|parfait|formidable"
        r"|génial|merveill\w+|bonheur|joie)\s*[,.!:\u2026]",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?=.*\b(?:again|another|wieder|schon wieder|noch eine?|otr[ao]|encore)\b)"
        r".*\b(?:love|adore|enjoy|lieb\w*|encanta\w*|ador\w*)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(r"\b(?!I\b)[A-ZÄÖÜÁÉÍÓÚÑ]{3,}\b.*!|[\U0001f600-\U0001f64f\U0001f923]|\s/s\b"),
    # Quoted or pasted text, code and logs.
    re.compile(r"[\"\u201c\u201d\u201e\u00ab\u00bb`{}]|(?:^|\s)'[^']+'(?!\w)|(?:^|\n)\s*[>#]"),
    re.compile(r"\d{1,2}:\d{2}:\d{2}|\b(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|Traceback)\b"),
    re.compile(r"\n[\w-]+:\s|\w\(\)|\s(?:#|//)\s"),
    _words(
        r"dear|yours|sincerely|regards|subject|sehr geehrte\w*|liebe[rs]? (?:frau|herr)|grüße?n?"
        r"|gruß|betreff|estimad[oa]s?|atentamente|saludos?|asunto|chère?|madame|monsieur"
        r"|cordialement|objet"
    ),
    # A task over a text, a play or a story.
    _words(
        r"summari[sz]\w*|translat\w*|proofread\w*|rewrite|rephrase|reply to|write (?:a|an|me)|solve"
        r"|the question is|exercise|homework|for example|e\.g\.|dialog(?:ue?)?|role-? ?play\w*"
        r"|story|poem|lyrics|zusammenfass\w*|fass\w*|übersetz\w*|korrigier\w*|schreib\w*|löse"
        r"|aufgabe|beispiel|rollenspiel|geschichte|gedicht|resum\w*|résum\w*|traduc\w*|tradui\w*"
        r"|corrig\w*|escrib\w*|escríb\w*|resuelv\w*|ejercicio|ejemplo|diálogo|juego de rol|cuento"
        r"|poema|écri\w*|exercice|exemple|jeu de rôle|histoire|poème"
    ),
    # Somebody else's words.
    _words(
        r"sa(?:id|ys?)|told|tells|according to|claims?|thinks?|sagt\w*|gesagt|meint\w*|laut"
        r"|erzähl\w*|di(?:jo|ce|cen)|según|cree|dit|disent|selon|pense"
    ),
    # Not sure, over, or not to be kept.
    _words(
        r"maybe|perhaps|might|probably|guess|suspect|reckon|assume|i (?:think|believe)|not sure"
        r"|for a friend|vielleicht|womöglich|wohl|glaub\w*|denk\w*|vermut\w*|quizás?|tal vez|creo"
        r"|supongo|a lo mejor|peut-être|sans doute|crois|suppose"
    ),
    _words(r"used to|formerly|früher|damals|ehemals|antes|solía\w*|autrefois|avant"),
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
    r"^\W*(?:(?:the|this) user(?!['\u2019])|(?:der|die) (?:be)?nutzer(?:in)?|(?:el|la) usuari[oa]"
    r"|l['\u2019]utilisat(?:eur|rice)|I|we|ich|wir|yo|je|nous)\b|^\W*j['\u2019]",
    re.IGNORECASE,
)
_OF_USERS_OWN = re.compile(
    r"^\W*(?:(?:the|this) user['\u2019]s|my|our|mein|unser|mi|mon|ma)\b", re.IGNORECASE
)
_USER = (
    content("user users us", "en")
    | content("Nutzer Nutzerin Benutzer Benutzerin", "de")
    | content("usuario usuaria", "es")
    | content("utilisateur utilisatrice", "fr")
)


def is_doubtful(fact: str, quote: str, line: str, sentence: str, said: frozenset[str]) -> bool:
    """Return True if the model must confirm a fact.

    Args:
        fact: as it was extracted.
        quote: the user's words that it rests on.
        line: the whole line of the quote.
        sentence: the sentences of the quote.
        said: the stems of all texts that it may be made from.
    """
    tongue = language(fact, language(line, "en"))
    return (
        is_marked(line, sentence)
        or "?" in sentence
        or negated(fact) != negated(sentence)
        or _is_of_another(fact, _clauses(quote, straight(sentence)))
        or not content(fact, tongue) - _USER <= said
        or is_talk(fact, tongue)
    )


def _clauses(quote: str, sentence: str) -> str:
    """Return the clauses of a sentence that contain the quote."""
    wanted = fold(quote)
    near = [
        clause
        for clause in CLAUSE.split(sentence)
        if wanted in fold(clause) or fold(clause) in wanted
    ]
    return " ".join(near) or sentence


def _is_of_another(fact: str, said: str) -> bool:
    """Return True if a fact is about the user, but its clauses do not speak of them."""
    if _OF_USER.search(fact):
        return not _SELF.search(said)
    return bool(_OF_USERS_OWN.search(fact)) and not (_SELF.search(said) or _OWN.search(said))


def is_marked(line: str, sentence: str) -> bool:
    """Return True if a line, or the sentence of a quote, may be play, irony or pasted text."""
    around = f"{straight(line)}\n{straight(sentence)}"
    return len(line) > _LONG_LINE or any(mark.search(around) for mark in _MARKS)
