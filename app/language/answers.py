"""Words that begin an answer, and words that stand for something said before."""

from app.language.phrases import any_case
from app.language.text import straight

_YES = any_case(
    r"^\W*(?:yes|yeah|yep|yup|sure|correct|right|exactly|indeed|of course|absolutely|definitely"
    r"|true|I do|I am|I have|ja|jawohl|genau|richtig|stimmt|klar|natürlich|doch|sí|si|claro"
    r"|exacto|correcto|oui|ouais|exactement|bien sûr|tout à fait|d'accord|si|да|sim|tak|evet)(?!\w)"
    r"|^\W*(?:是的?|对|好的?|嗯|有|はい|ええ|うん|네|예)(?=\W|$)"
)
_NO = any_case(
    r"^\W*(?:no|nope|nah|never|not really|nein|nee|nie|nunca|non|jamais|нет|não|nao)(?!\w)"
    r"|^\W*(?:不是?|没有?|いいえ|いや|아니요?)(?=\W|$)"
)
_STANDS_FOR = any_case(
    r"^\W*(?:it|its|it's|that|that's|this|these|those|they|they're|he|he's|she|she's|mine|hers|theirs"
    r"|es|das|dies\w*|er|sie|seine?r?|meine?[rs]?|él|ella|ell[oa]s|es[oae]|est[oae]|el mío|la mía"
    r"|il|elle|ils|elles|c'est|ça|cela|le mien|la mienne|ele|ela|isso|é)(?!\w)"
    r"|^\W*(?:それ|これ|あれ|那|这|它|他|她|그것|이것)"
)


def answered(text: str) -> bool | None:
    """Return True for a text that begins with a yes, False for a no, and None for other texts."""
    plain = straight(text)
    if _YES.match(plain):
        return True
    return False if _NO.match(plain) else None


def stands_for_another(text: str) -> bool:
    """Return True if a text begins with a word that refers to an earlier text."""
    return _STANDS_FOR.match(straight(text)) is not None
