"""Short answers ("yes", "no", "Rex.") that depend on the preceding question."""

import re

from app.language.text import straight

_YES = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|sure|correct|right|exactly|indeed|of course|absolutely|definitely"
    r"|true|I do|I am|I have|ja|jawohl|genau|richtig|stimmt|klar|natürlich|doch|sí|si|claro"
    r"|exacto|correcto|oui|ouais|exactement|bien sûr|tout à fait|d'accord|si|да|sim|tak|evet)(?!\w)"
    r"|^\W*(?:是的?|对|好的?|嗯|有|はい|ええ|うん|네|예)(?=\W|$)",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^\W*(?:no|nope|nah|never|not really|nein|nee|nie|nunca|non|jamais|нет|não|nao)(?!\w)"
    r"|^\W*(?:不是?|没有?|いいえ|いや|아니요?)(?=\W|$)",
    re.IGNORECASE,
)
_STANDS_FOR = re.compile(
    r"^\W*(?:it|its|it's|that|that's|this|these|those|they|they're|he|he's|she|she's|mine|hers|theirs"
    r"|es|das|dies\w*|er|sie|seine?r?|meine?[rs]?|él|ella|ell[oa]s|es[oae]|est[oae]|el mío|la mía"
    r"|il|elle|ils|elles|c'est|ça|cela|le mien|la mienne|ele|ela|isso|é)(?!\w)"
    r"|^\W*(?:それ|これ|あれ|那|这|它|他|她|그것|이것)",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[^.!?\u2026\u3002\uff01\uff1f]*[?\uff1f\u061f]")


def answered(text: str) -> bool | None:
    """Return True for a text that begins with a yes, False for a no, and None for other texts."""
    plain = straight(text)
    if _YES.match(plain):
        return True
    return False if _NO.match(plain) else None


def stands_for_another(text: str) -> bool:
    """Return True if a text begins with a word that refers to an earlier text."""
    return _STANDS_FOR.match(straight(text)) is not None


def without_answer(text: str) -> str:
    """Return the text without a leading yes or no."""
    match = _YES.match(straight(text)) or _NO.match(straight(text))
    rest = text[match.end() :] if match else text
    return rest if match and re.match(r"\s*[,.;:!\u2014-]|\s*$|[\uff0c\u3002]", rest) else text


def last_question(text: str) -> str:
    """Return the last question in a text, or an empty text."""
    asked = _ASKS.findall(straight(text))
    return asked[-1].strip() if asked else ""
