"""Completion of sentences that omit "I am": "Not vegetarian these days." becomes a statement."""

import re

from app.language.phrases import QUESTION
from app.language.text import straight

_ASKED_OF_THE_USER = re.compile(
    r"\b(?:you|your|du|dein\w*|sie|ihr\w*|tú|tu|eres|usted|tus|vous|votre|es-tu|tes|ton|ta)\b",
    re.IGNORECASE,
)
_LEADS = {
    "en": r"(?:(?:actually|well|oh|in fact|to be honest|by the way|btw|update|so|and|but|no"
    r"|it turns out|turns out|sadly|unfortunately),? )",
    "de": r"(?:(?:eigentlich|tatsächlich|übrigens|ach|also|leider|inzwischen|mittlerweile|aber|und"
    r"|nein|ehrlich gesagt|bin),? )",
    "es": r"(?:(?:en realidad|la verdad|de hecho|por cierto|bueno|pues|lamentablemente|y|pero"
    r"|no),? )",
    "fr": r"(?:(?:en fait|en réalité|finalement|à vrai dire|au fait|d'ailleurs|malheureusement|bon"
    r"|et|mais|non),? )",
}
_SAID = {
    "en": r"(?P<said>(?P<denied>not|no longer|never)(?: (?:really|strictly|even|quite|a|an))*"
    r" (?:vegan|vegetarian|pescatarian|single|married|pregnant|diabetic|smoker|religious)"
    r"(?P<tail>(?: (?:these days|any ?more|any longer|now|at the moment|currently|right now"
    r"|lately))*))",
    "de": r"(?P<said>(?:(?:jetzt|zurzeit|derzeit|momentan|gerade|doch) )*"
    r"(?P<denied>nicht|keine?)(?P<tail>(?: mehr)?)"
    r" (?:ganz |so |wirklich )?(?:vegan|vegetarisch|veganer(?:in)?|vegetarier(?:in)?|single|ledig"
    r"|verheiratet|schwanger|raucher(?:in)?|religiös)(?: mehr)?)",
    "es": r"(?P<denied>ya no|no)(?: soy)? (?P<said>(?:vegan|vegetarian|solter|religios|fumador"
    r"|diabétic)[oa]?)(?P<tail>(?:,? (?:estos días|últimamente|ahora|por ahora|actualmente))*)",
    "fr": r"(?P<denied>plus|pas) (?P<said>(?:vraiment |du tout )?(?:végane?|vegan|végétarien(?:ne)?"
    r"|célibataire|marié(?:e)?|enceinte|fumeu(?:r|se)|diabétique))"
    r"(?P<tail>(?: (?:ces temps-ci|ces jours-ci|maintenant|en ce moment|actuellement))*)"
    r"(?:,? en fait)?",
}
_ELLIPSES = {
    tongue: re.compile(rf"^(?P<lead>{lead}*){_SAID[tongue]}[\s.!]*$", re.IGNORECASE)
    for tongue, lead in _LEADS.items()
}
_CHANGED = re.compile(r"^(?:no longer|ya no|plus)$", re.IGNORECASE)


def in_full(text: str, question: str, tongue: str) -> str:
    """Return the sentence with its omitted "I am", or unchanged.

    It stays unchanged after a question about another person. It also stays unchanged if it might
    describe another thing: "Not vegetarian." alone may describe a dish.
    """
    pattern = _ELLIPSES.get(tongue)
    match = pattern.match(straight(text).strip()) if pattern else None
    if match is None or (QUESTION.search(question) and not _ASKED_OF_THE_USER.search(question)):
        return text
    if not (match["lead"] or match["tail"] or _CHANGED.match(match["denied"])):
        return text
    completed = {
        "en": f"I'm {match['said'].lower()}",
        "de": f"Ich bin {match['said'][0].lower()}{match['said'][1:]}",
        "es": f"{match['denied'].capitalize()} soy {match['said']}{match['tail']}",
        "fr": f"Je ne suis {match['denied'].lower()} {match['said']}{match['tail']}",
    }
    return f"{completed[tongue]}."
