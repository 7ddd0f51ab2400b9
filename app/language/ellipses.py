"""Sentences that leave out "I am": "Actually not vegetarian these days." is put in full."""

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
    """Return the sentence with the "I am" that it leaves out, else as it is.

    After a question about somebody else it stays as it is, and so does one that need not be meant
    of now: "Not vegetarian." alone may be said of a dish.
    """
    pattern = _ELLIPSES.get(tongue)
    found = pattern.match(straight(text).strip()) if pattern else None
    if found is None or (QUESTION.search(question) and not _ASKED_OF_THE_USER.search(question)):
        return text
    if not (found["lead"] or found["tail"] or _CHANGED.match(found["denied"])):
        return text
    said = {
        "en": f"I'm {found['said'].lower()}",
        "de": f"Ich bin {found['said'][0].lower()}{found['said'][1:]}",
        "es": f"{found['denied'].capitalize()} soy {found['said']}{found['tail']}",
        "fr": f"Je ne suis {found['denied'].lower()} {found['said']}{found['tail']}",
    }
    return f"{said[tongue]}."
