"""The supported languages, and their distinction from all others."""

import re
from collections import Counter

from app.language.lexicon import MARKERS, TONGUE_NAMES, language, latin
from app.language.phrases import ENGLISH, FRENCH, GERMAN, SPANISH, Phrases, any_case
from app.language.search_languages import foreign_language, telling

PHRASES: dict[str, Phrases] = {"en": ENGLISH, "de": GERMAN, "es": SPANISH, "fr": FRENCH}

# "I" or "my" in languages without `Phrases`: such a sentence yields no memory, but scores higher
# than other sentences of a text.
FIRST_ELSEWHERE = any_case(
    r"\b(?:io|mi piace|mi chiamo|vivo|amo|mi[oae]|miei|preferisco|abito|lavoro|sono|eu|meus?"
    r"|minhas?|gosto|moro|prefiro|sou|ik"
    r"|mijn|jestem|mam|mój|moj[ae]|lubię|mieszkam|wolę|benim?|bana|jag|min|mitt|mina|mig|jeg|mitt"
    r"|я|мне|меня|мой|моя|моё|мои|мы|мій|моє|εγώ|μου|με λένε|είμαι|μένω|saya|aku|tôi|mimi)\b"
    r"|我|咱|私|僕|俺|わたし|ぼく|저는|나는|제가|내가|제 |우리|أنا|لدي|عندي|أحب|أعيش|أسكن|اسمي|أعمل"
    r"|אני|שלי|मैं|मेरा|मेरी|मेरे|मुझे|ฉัน|ผม|আমি|আমার|من |என்|నేను"
)
GREETING_ELSEWHERE = any_case(
    r"^\W*(?:ciao|salve|buon\w+|grazie|prego|olá|oi|obrigad[oa]|bom dia|boa \w+|hallo|hoi|dank\w*"
    r"|cześć|dzień dobry|dziękuję|merhaba|teşekkür\w*|hej|tack|привет|здравствуйте|спасибо|пока"
    r"|你好|您好|谢谢|再见|早上好|こんにちは|ありがとう(?:ございます)?|おはよう(?:ございます)?"
    r"|안녕하세요|안녕|감사합니다|مرحبا|شكرا|السلام عليكم|שלום|תודה|नमस्ते|धन्यवाद)"
    r"(?:\s+[^\W\d_]+){0,2}\W*$"
)

_NAMES = {"en": "english", "de": "german", "es": "spanish", "fr": "french"}
READ_LANGUAGES = frozenset(_NAMES.values())
"""English names of the languages that the rules read."""
_WORD = re.compile(r"[^\W\d_]+")
_I = re.compile(r"(?<![\w/])I(?![\w/])|(?<!\w)à(?!\w)")


def reads(text: str, tongue: str) -> bool:
    """Return True if the rules can read a text that is assumed to be in the language `tongue`.

    They cannot if more of its words identify another language than any of the supported ones. A
    surplus of one does not count if some words identify a supported language.
    """
    if tongue not in PHRASES or not latin(text):
        return False
    if language(text, tongue) not in PHRASES:
        return False
    known, others = _count_known(text)
    others += 2 * bool(_SURELY_OTHERS.search(text))
    return others <= known + bool(known)


def is_english(text: str, tongue: str = "en") -> bool:
    """Return True if a text is English; `tongue` decides where no word identifies a language."""
    if language(text, tongue) != "en" or not latin(text):
        return False
    return foreign_language(text, {"english"}) is None


def is_in(text: str, tongue: str) -> bool:
    """Return True if a word of more than one letter identifies the language."""
    text_words = _WORD.findall(text.casefold())
    return any(len(word) > 1 and word in MARKERS.get(tongue, ()) for word in text_words)


def _count_known(text: str) -> tuple[int, int]:
    counts: Counter[str] = Counter()
    for at, word in enumerate(_WORD.findall(text)):
        if len(word) < _LEAST_LETTERS or (at and word[0].isupper()):
            continue
        low = word.casefold()
        counts.update(
            {
                _NAMES.get(tongue, TONGUE_NAMES.get(tongue, tongue))
                for tongue in MARKERS
                if low in MARKERS[tongue]
            }
            | set(telling(low))
        )
    known = max(counts.pop(name, 0) for name in _NAMES.values())
    return known + bool(_I.search(text)), max(counts.values(), default=0)


_LEAST_LETTERS = 2
_SURELY_OTHERS = any_case(
    r"\b(?:io|mi (?:piac\w+|chiamo|sono)|abito|lavoro|sono|mio|miei|eu|meus?|minhas?|gosto|moro"
    r"|trabalho|tenho|ik|mijn|woon|werk|hou van|jestem|mój|moj[ae]|lubię|mieszkam|pracuję|jag"
    r"|mitt|bor|jobbar|gillar|jeg|heter|hedder|benim|saya|aku|tôi|jsem|bydlím|pracuji|minä|asun"
    r"|vagyok|lakom|sunt|locuiesc|vivo (?:em|(?-i:a(?= [A-Z]))))\b"
)
"""Words that occur in no sentence of a supported language."""
