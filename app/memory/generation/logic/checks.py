"""Check of a model's reply: sound facts and doubtful ones become candidates, others are dropped.

A check that drops a fact is exact and the same in every language. A fact that only looks wrong is
marked doubtful, and the model must confirm it in the second call.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from app.kernel.text import clean, fold
from app.language.answers import answered, stands_for_another
from app.language.dates import resolve
from app.language.facts import Candidate, Topic
from app.language.lexicon import language, latin
from app.language.phrases import any_case
from app.language.scoring import classify
from app.language.sentences import CLAUSE
from app.language.stances import affirms
from app.language.statements import is_talk
from app.language.text import content, straight
from app.language.tongues import PHRASES
from app.memory.generation.logic.additions import (
    TextWords,
    added,
    adds_to,
    is_idle,
    is_user,
    shares_a_word,
    touched,
)
from app.memory.generation.logic.outcomes import Dropped, DropReason, RefusalReason
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.replies import ExtractedFact
from app.memory.generation.logic.sources import Sources
from app.memory.generation.logic.specifics import Origin, foreign, foreign_names, may_be_a_noun
from app.platform.engines.logic.topics import MAX_FACT_CHARS

_PAIR = 2
"""Number of characters that count as a word in scripts without blanks."""

_LONG_LINE = 400
"""Characters; a longer line is often pasted text."""


class Checked(NamedTuple):
    """The candidates, and the facts that were dropped."""

    candidates: list[Candidate]
    dropped: list[Dropped]


def checked(facts: Iterable[ExtractedFact], sources: Sources, guide: Guide) -> Checked:
    """Return the facts that rest on a user's words and belong to the requested topics."""
    check = _Check(sources, guide)
    results = [check.fact(fact) for fact in facts]
    return Checked(
        [result for result in results if isinstance(result, Candidate)],
        [result for result in results if isinstance(result, Dropped)],
    )


@dataclass(frozen=True)
class _Check:
    sources: Sources
    guide: Guide

    def fact(self, said: ExtractedFact) -> Candidate | Dropped:
        fact = clean(said.fact).strip()
        repeated = self.sources.find(said.quote, said.line)
        fault = "NO_QUOTE" if repeated is None else self._fault(fact, repeated.turn)
        if repeated is None or fault is not None:
            return Dropped(fact[:MAX_FACT_CHARS], said.quote, fault or "NO_QUOTE")
        turn, quote = repeated.turn, repeated.words
        candidate = Candidate(
            fact, (), quote, turn, forget=said.forget, said_on=self.sources.day(turn)
        )
        candidate = replace(
            candidate,
            context=self.sources.around(fact, quote, turn),
            doubtful=repeated.is_near,
        )
        if said.forget:
            line, sentence = self.sources.said.get(turn, ""), self.sources.sentence(quote, turn)
            return replace(candidate, doubtful=repeated.is_near or is_marked(line, sentence))
        topics = _topics(said.topics, self._by_label, fact, self.guide.topics)
        if not topics:
            return Dropped(fact, quote, "OFF_TOPIC")
        candidate = replace(candidate, topics=topics)
        return candidate if turn in self.sources.files else self._verify(candidate)

    def _fault(self, fact: str, turn: int) -> DropReason | None:
        if turn in self.sources.context:
            return "ALREADY_READ"
        return None if 0 < len(fact) <= MAX_FACT_CHARS else "BAD_LENGTH"

    def _verify(self, candidate: Candidate) -> Candidate | Dropped:
        turn, quote, sources = candidate.turn, candidate.source, self.sources
        details = list(foreign(candidate.fact, sources.origin(turn)))
        if details and not details[0].may_follow:
            reason: DropReason = (
                "FOREIGN_DATE" if details[0].reason == "FOREIGN_DATE" else "FOREIGN_NUMBER"
            )
            return Dropped(candidate.fact, quote, reason, details[0].detail)
        sentence, asked = sources.sentence(quote, turn), sources.answers(quote, turn)
        doubtful = (
            candidate.doubtful
            or self._has_foreign_details(candidate, asked)
            or is_doubtful(candidate.fact, quote, sources.said[turn], sentence, sources.words)
        )
        return replace(
            candidate,
            fact=resolve(candidate.fact, sources.day(turn), language(candidate.fact)),
            doubtful=doubtful,
            question=asked,
        )

    def _has_foreign_details(self, candidate: Candidate, asked: str) -> bool:
        """Return True if a detail is not the user's, or a name does not occur in the context."""
        fact, own = candidate.fact, self.sources.own(candidate.turn)
        details = [detail.detail for detail in foreign(fact, own)]
        if not stands_for_another(candidate.source):
            around = ((candidate.context, own.said_on), (asked, own.said_on))
            details += foreign_names(fact, Origin(around, own.said_on))
        return any(not is_user(detail) and not may_be_a_noun(detail, fact) for detail in details)

    @cached_property
    def _by_label(self) -> Mapping[str, Topic]:
        return {topic.label.casefold(): topic for topic in self.guide.topics}


def _topics(
    labels: Sequence[str], by_label: Mapping[str, Topic], fact: str, wanted: Sequence[Topic]
) -> tuple[Topic, ...]:
    matches = (by_label.get(label.casefold()) for label in labels)
    named = tuple(dict.fromkeys(topic for topic in matches if topic is not None))
    return named or classify(fact, wanted, tongue=language(fact), explicit=False)


def refusal(
    text: str, origin: Origin, shown: Origin, sources: Sequence[str]
) -> RefusalReason | None:
    """Return the reason to refuse the sentence of a decision, or None if it may be written.

    Args:
        text: the new sentence of a memory.
        origin: the fact, its lines and the memories that the decision names.
        shown: everything in the model's prompt, for the check of names.
        sources: the fact and the memory; the text must share a word with one of them.
    """
    if not 0 < len(text) <= MAX_FACT_CHARS:
        return "BAD_LENGTH"
    for unsourced in foreign(text, origin):
        if not unsourced.may_follow:
            return "FOREIGN_DATE" if unsourced.reason == "FOREIGN_DATE" else "FOREIGN_NUMBER"
        is_name = unsourced.reason == "FOREIGN_NAME" and not may_be_a_noun(unsourced.detail, text)
        if is_name and not shown.has(unsourced.detail):
            return "FOREIGN_NAME"
    return None if any(_are_related(text, source) for source in sources) else "UNRELATED_TEXT"


def _are_related(text: str, other: str) -> bool:
    if not latin(other):
        signs, more = fold(text).replace(" ", ""), fold(other).replace(" ", "")
        return any(more[n : n + _PAIR] in signs for n in range(max(len(more) - 1, 1)))
    tongue = language(other, "en")
    return not content(text, tongue).isdisjoint(content(other, tongue))


def _words(text: str) -> re.Pattern[str]:
    return any_case(rf"\b(?:{text})\b")


_OF_SENTENCE = (
    # A condition, a wish or an exaggeration.
    _words(
        r"if|would|could|wish|wenn|falls|würde\w*|wäre\w*|hätte\w*|könnte\w*|wünsch\w*|si|ojalá"
        r"|quisiera|sería|tendría|tuviera|\w+ría|sueño con|aimerais|voudrais|serais?|aurais?"
        r"|\w+r(?:ais|ait|ions)|\w+'d(?! (?:like|love|prefer|rather)\b)"
    ),
    # The words of another person.
    _words(
        r"(?<!\bI )(?:said|told)|sa(?:ys?)|tells|according to|claims?|thinks?|sagt\w*|gesagt"
        r"|meint\w*|laut|erzähl\w*|di(?:jo|ce|cen)|según|cree|dit|disent|selon|pense"
    ),
    # Uncertain, or over.
    _words(
        r"maybe|perhaps|might|probably|guess|suspect|reckon|assume|i (?:think|believe)|not sure"
        r"|almost|nearly|thinking (?:about|of)|considering|beinahe|überleg\w*|casi|presque"
        r"|for a friend|vielleicht|womöglich|wohl|glaub\w*|denk\w*|vermut\w*|quizás?|tal vez|creo"
        r"|supongo|a lo mejor|peut-être|sans doute|crois|suppose"
    ),
    _words(
        r"used to|formerly|früher|damals|ehemals|antes(?! de)|solía\w*|autrefois"
        r"|avant(?! (?:d|l|m))"
    ),
    # In confidence: the fact has to mention it.
    _words(
        r"between (?:us|you and me)|confidential\w*|unter uns|vertraulich\w*|entre nosotros"
        r"|entre tú y yo|confidencial\w*|entre nous|confidentiel\w*"
    ),
)
"""Patterns that apply only within their sentence."""
_OF_LINE = (
    # A daydream: it may begin several sentences earlier.
    _words(
        r"imagine|suppose|pretend|hypothetical\w*|dream\w*|stell dir vor|angenommen|imagin\w+"
        r"|supposons|rêve"
    ),
    # Laughter and irony, and praise next to a mishap ("Great, another strike").
    _words(
        r"(?:ha){2,}h?|lol|lmao|rofl|jk|kidding|joking|(?:ja){2,}j?|mdr|ptdr|(?:hi){2,}|scherz|spaß"
        r"|witz|broma|blague|as if|yeah right|na klar|claro que sí|bien sûr que|bravo|xd"
    ),
    any_case(
        r"(?:^|[.!?]\s+)\W*(?:(?:oh|ah|ach|na|ganz|echt|just|simply|how|qué|que|vaya|quel(?:le)?)"
        r",? )*(?:great|wonderful|fantastic|perfect|lovely|brilliant|awesome|toll|super|klasse"
        r"|prima|wunderbar|genial|perfecto|fantástico|estupendo|maravill\w+|parfait|formidable"
        r"|génial|merveill\w+|bonheur|joie)\s*[,.!:\u2026]"
    ),
    re.compile(
        r"(?=.*\b(?:again|another|wieder|schon wieder|noch eine?|otr[ao]|encore)\b)"
        r".*\b(?:love|adore|enjoy|lieb\w*|encanta\w*|ador\w*)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(r"\b(?!I\b)[A-ZÄÖÜÁÉÍÓÚÑ]{3,}\b.*!|[\U0001f600-\U0001f64f\U0001f923]|\s/s\b"),
    # Quoted or pasted text, code and logs.
    re.compile(
        r"\"[^\"]+\"|^\W*\"|[\u201c\u201d\u201e\u00ab\u00bb`{}]|(?:^|\s)'[^']+'(?!\w)|(?:^|\n)\s*[>#]"
    ),
    re.compile(r"\d{1,2}:\d{2}:\d{2}|\b(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|Traceback)\b"),
    re.compile(r"\n[\w-]+:\s|\w\(\)|\s(?:#|//)\s"),
    _words(
        r"dear|yours|sincerely|regards|subject|sehr geehrte\w*|liebe[rs]? (?:frau|herr)|grüße?n?"
        r"|gruß|betreff|estimad[oa]s?|atentamente|saludos?|asunto|chère?|madame|monsieur"
        r"|cordialement|objet"
    ),
    # A task about a text, a play or a story.
    _words(
        r"summari[sz]\w*|translat\w*|proofread\w*|rewrite|rephrase|reply to|write (?:a|an|me)|solve"
        r"|the question is|exercise|homework|for example|e\.g\.|dialog(?:ue?)?|role-? ?play\w*"
        r"|story|novel|poem|lyrics|zusammenfass\w*|fass\w*|übersetz\w*|korrigier\w*|schreib\w*|löse"
        r"|aufgabe|beispiel|rollenspiel|geschichte|gedicht|resum\w*|résum\w*|traduc\w*|tradui\w*"
        r"|corrig\w*|escrib\w*|escríb\w*|resuelv\w*|ejercicio|ejemplo|diálogo|juego de rol|cuento"
        r"|poema|écri\w*|exercice|exemple|jeu de rôle|histoire|poème"
    ),
    # Not to be kept.
    _words(
        r"off the record|(?:don't|do not) (?:store|save|record|remember|keep|note)"
        r"|nicht (?:speichern|merken|notieren)|no (?:guardes|anotes|recuerdes)"
        r"|(?:ne|n') ?\w+ pas (?:ça|cela)"
    ),
)
_SELF = _words(
    r"i|i'\w+|me|myself|we|us|ich|mich|mir|wir|uns|yo|mí|me|conmigo|nos|nosotr[oa]s|je|j'\w+|moi"
    r"|m'\w+|nous|on"
)
_OWNED = any_case(r"\b(?:my|our|mein\w*|unser\w*|mis?|nuestr\w*|mon|ma|mes|notre|nos) (\w+)")
_OF_USER = any_case(
    r"^\W*(?:(?:the|this) user(?!['\u2019])|(?:der|die) (?:be)?nutzer(?:in)?|(?:el|la) usuari[oa]"
    r"|l['\u2019]utilisat(?:eur|rice)|I|we|ich|wir|yo|je|nous)\b|^\W*j['\u2019]"
)
_WORD = re.compile(r"[^\W_]+")
_OTHERS = any_case(
    r"^\W*(?:(?:and|but|und|aber|y|pero|et|mais)\s)?(?:s?he|they|er|sie|él|ella|ell[oa]s|ils?|elles?)\b"
)


def is_doubtful(fact: str, quote: str, line: str, sentence: str, said: TextWords) -> bool:
    """Return True if the model must confirm a fact, since the user may not mean it literally.

    `line` is the whole line of the quote, `sentence` its sentences, and `said` all the user's
    lines.
    """
    # The patterns are generous: a false alarm costs only some tokens.
    pieces = CLAUSE.split(straight(sentence))
    clauses = [pieces[at] for at in touched(pieces, quote)] or [sentence]
    return (
        is_marked(line, sentence, fact)
        or "?" in sentence
        or _contradicts(fact, clauses)
        or _is_of_another(fact, clauses)
        or adds_to(fact, said)
        or (stands_for_another(quote) and bool(added(fact, said)))
        or not shares_a_word(fact, TextWords(sentence))
        or is_talk(fact, language(fact, language(line, "en")))
    )


def _contradicts(fact: str, clauses: Sequence[str]) -> bool:
    about = [clause for clause in clauses if shares_a_word(fact, TextWords(clause))] or clauses
    return set(map(affirms, about)).isdisjoint(map(affirms, CLAUSE.split(fact)))


def _is_of_another(fact: str, clauses: Sequence[str]) -> bool:
    # That is, clauses that begin with another person or an order ("Buy milk"), which the fact
    # leaves out.
    said = " ".join(clauses)
    if not _OF_USER.search(fact) or _speaks_of_self(_OWNED.sub(" ", said)):
        return False
    named = TextWords(fact)
    others = [owned[1] for owned in _OWNED.finditer(said)]
    others += _first_words(clauses[0])
    return any(map(_OTHERS.match, clauses)) or not all(named.has(fold(other)) for other in others)


def _speaks_of_self(text: str) -> bool:
    # Spanish verbs need no pronoun.
    is_spanish = language(text, "en") == "es"
    return bool(_SELF.search(text) or (is_spanish and PHRASES["es"].first.search(text)))


def _first_words(clause: str) -> list[str]:
    words = (word for word in _WORD.findall(clause) if answered(word) is None)
    return list(islice((word for word in words if not is_idle(word)), 1))


def is_marked(line: str, sentence: str, fact: str = "") -> bool:
    """Return True if a line, or the sentence of a quote, may be play, irony or pasted text."""
    # A mark that the fact repeats, such as a condition, does not count.
    line, sentence, fact = straight(line), straight(sentence), straight(fact)
    return (
        len(line) > _LONG_LINE
        or any(mark.search(sentence) and not mark.search(fact) for mark in _OF_SENTENCE)
        or any(mark.search(line) for mark in _OF_LINE)
    )
