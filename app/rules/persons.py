"""Whom a clause is about, and whether it tells what is so or what is wished."""

import re

from app.rules.lexicon import language, latin
from app.rules.tongues import PHRASES
from app.rules.wording import MINE, OTHERS, SELF, alike, meanings, moods, sequence

_OF_SELF = frozenset({"+name", "+work", "+age", "+born", "+prefer", "+live"})
"""Kinds of things that are said of oneself: "my name", "my job", "my favourite"."""
_THINGS = frozenset({"it", "its", "es"})
_OF_ANOTHER = re.compile(
    r"^\W*(?P<who>[^\W\d_]+) (?:is|was|has|lives|works|likes|loves|hates|ist|hat|war|wohnt|arbeitet"
    r"|mag|est|habite|travaille|aime|es|tiene|vive|trabaja)\b",
    re.IGNORECASE,
)
_KIN = re.compile(
    r"(?:我的?|私の)(?P<who>妈妈|爸爸|姐姐|妹妹|哥哥|弟弟|妻子|丈夫|老婆|老公|太太|先生|儿子|女儿|孩子"
    r"|朋友|同事|男友|女友|父亲|母亲|奶奶|爷爷|老板|邻居|狗|猫|母|父|姉|妹|兄|弟|妻|夫|息子|娘|友達|犬)"
)
_SUPPOSED = re.compile(
    r"\b(?:want(?:s|ed)? to|wish(?:es)? (?:to|I)|hop(?:e|es|ing) to|plan(?:s|ning)? to"
    r"|(?:would|'d) (?:like|love) to|dream(?:s|ing)? of|might|maybe|perhaps|used to|almost|nearly"
    r"|unless|if I|möchte|hoffe|vielleicht|früher|fast|würde|könnte|(?:ich|er|wir) will"
    r"|quiero \w+[aei]r|quisiera|espero|quiz[aá]s?|podría|gustaría|antes|casi|veux|voudrais|espère"
    r"|aimerais|pourrais|peut-être|avant|presque)\b|想|希望|打算|以前|可能|たい|かも",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:I(?:'d| would)? (?:want|like|wish) you to|I (?:want|would like|'d like) to (?:say|add"
    r"|mention|tell|let you)|I'd like to (?:say|add|mention|tell|let you)|I hope you)\b",
    re.IGNORECASE,
)
"""What introduces a fact: "I want you to know that I am vegan"."""
_INTENDED = re.compile(
    r"\b(?:previously|former\w*|past|once|intend\w*|aim\w*|goal|consider\w*|think\w*|interested"
    r"|want\w*|plan\w*|hop\w+|wish\w*|dream\w*|ehemals|vorhat|plant|quiere|planea|veut|prévoi\w*"
    r"|anteriormente|auparavant)\b",
    re.IGNORECASE,
)


def is_as_sure(fact: str, clause: str) -> bool:
    """Tell whether a fact says no more than a clause that wishes, plans or looks back."""
    if not _SUPPOSED.search(_TOLD.sub(" ", clause)):
        return True
    return bool(_SUPPOSED.search(fact) or _INTENDED.search(fact) or moods(fact))


def is_of_the_same(fact: str, clause: str) -> bool:
    """Tell whether a fact and a clause can be about one person; "she" may be anyone but "I"."""
    if not latin(clause):
        kin = _KIN.search(clause)
        return kin is None or kin["who"] in fact
    tongue = language(clause, "en")
    mine, theirs = sequence(fact, tongue), sequence(clause, tongue)
    phrases = PHRASES.get(tongue)
    drops = tongue == "es" and phrases is not None and phrases.first.search(fact) is not None
    if mine[:1] == (SELF,) or (drops and MINE not in mine):
        return _can_be_self(fact, clause, mine, theirs)
    who = meanings(fact, tongue)[:1]
    named = not who or any(alike(who[0], word) for word in meanings(clause, tongue))
    return named or who[0] in _OF_SELF or SELF not in theirs or not OTHERS.isdisjoint(theirs)


def _can_be_self(fact: str, clause: str, mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Tell whether a clause can be about the person who speaks, or about what is theirs."""
    if SELF in theirs:
        return True
    told = meanings(clause, language(clause, "en"))
    if theirs[:1] == (MINE,):
        said = meanings(fact, language(clause, "en"))
        return not told or told[0] in _OF_SELF or any(alike(told[0], word) for word in said)
    if theirs[:1] and theirs[0] in OTHERS - _THINGS:
        return MINE in mine or MINE in theirs
    other = _OF_ANOTHER.match(clause)
    return other is None or MINE in theirs or other["who"].casefold() in fact.casefold()
