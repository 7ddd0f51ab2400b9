"""The languages whose sentences are understood, and what is listened for in all the others."""

import re

from app.rules.phrases import Phrases
from app.rules.phrases_de import GERMAN
from app.rules.phrases_en import ENGLISH
from app.rules.phrases_es import SPANISH
from app.rules.phrases_fr import FRENCH

PHRASES: dict[str, Phrases] = {"en": ENGLISH, "de": GERMAN, "es": SPANISH, "fr": FRENCH}

# How a person says "I" or "my" in languages without `Phrases`: enough to keep a statement as is.
FIRST_ELSEWHERE = re.compile(
    r"\b(?:io|mi piace|mi chiamo|vivo|amo|mi[oae]|miei|preferisco|abito|lavoro|sono|eu|meus?"
    r"|minhas?|gosto|moro|prefiro|sou|ik"
    r"|mijn|jestem|mam|mój|moj[ae]|lubię|mieszkam|wolę|benim?|bana|jag|min|mitt|mina|mig|jeg|mitt"
    r"|я|мне|меня|мой|моя|моё|мои|мы|мій|моє|εγώ|μου|με λένε|είμαι|μένω|saya|aku|tôi|mimi)\b"
    r"|我|咱|私|僕|俺|わたし|ぼく|저는|나는|제가|내가|제 |우리|أنا|لدي|عندي|أحب|أعيش|أسكن|اسمي|أعمل"
    r"|אני|שלי|मैं|मेरा|मेरी|मेरे|मुझे|ฉัน|ผม|আমি|আমার|من |என்|నేను",
    re.IGNORECASE,
)
GREETING_ELSEWHERE = re.compile(
    r"^\W*(?:ciao|salve|buon\w+|grazie|prego|olá|oi|obrigad[oa]|bom dia|boa \w+|hallo|hoi|dank\w*"
    r"|cześć|dzień dobry|dziękuję|merhaba|teşekkür\w*|hej|tack|привет|здравствуйте|спасибо|пока"
    r"|你好|您好|谢谢|再见|早上好|こんにちは|ありがとう(?:ございます)?|おはよう(?:ございます)?"
    r"|안녕하세요|안녕|감사합니다|مرحبا|شكرا|السلام عليكم|שלום|תודה|नमस्ते|धन्यवाद)"
    r"(?:\s+[^\W\d_]+){0,2}\W*$",
    re.IGNORECASE,
)
