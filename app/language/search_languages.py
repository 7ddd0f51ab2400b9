"""The Postgres text-search configuration of a text. Fast, since every write calls it.

A language is identified by its commonest function words, else by its script.
"""

import re
from collections import Counter
from collections.abc import Set as AbstractSet

UNKNOWN = "simple"
"""The configuration that leaves every word unchanged."""

_READ_CHARS = 2_000
_WORD = re.compile(r"[^\W\d_]+")
_TELLING = {
    "english": "i the a an and is are was were be been to of in on at for with it its this that not"
    " have has had my your his her their they we you he she do does did but so just from by or as"
    " about if what who when where how why which would could should will can there than me him them"
    " am im our us up out get got some any really very too t s ll ve don didn"
    # Content words in English, but function words in other languages.
    " met die war hat far men sin also dan fun per sea come no see care are",
    "german": "ich der die das den dem des ein eine einen einem einer und ist sind bin war waren"
    " nicht kein keine mit auf im am um von zu zum zur bei für aus nach habe hast hat haben hatte"
    " du sie er es wir ihr mein meine sein seine aber auch noch nur sehr dass wenn wie was wo wer"
    " gerne gern jetzt immer oder doch schon mal lieber seit wird kann mag uns mir mich",
    "french": "je j le la les l un une des du de d et est sont suis était ne n pas plus avec dans"
    " en au aux pour par que qu qui se ce cette c ça mon ma mes son sa ses ai a avons mais aussi"
    " très où nous vous tu il elle ils elles on chez sur m notre votre leur été comme quand",
    "spanish": "yo el la los las un una unos y es son soy está estoy era no con en de del al por"
    " para que se lo le les su sus mi mis me tengo tiene he ha hay pero también muy más cuando"
    " como donde quien este esta nos gusta fue fui desde porque o nosotros ella él",
    "italian": "io il lo la gli i le un una uno di del della dei che è e sono non con per da dal"
    " nel nella mio mia miei mie suo sua mi si ha ho abbiamo ma anche molto più quando come dove"
    " chi questo questa al alla ci piace era stato perché o lui lei noi",
    "portuguese": "eu o os a as um uma uns umas de do da dos das em no na nos nas e é são sou não"
    " com por para que se meu minha meus seu sua tenho tem foi fui mas também muito mais quando"
    " como onde quem este esta isso ele ela nós ao à me gosto está",
    "dutch": "ik de het een en is zijn ben was niet geen met op in om van te bij voor uit naar heb"
    " hebt heeft had je jij zij hij wij we mijn mij haar hun maar ook nog zeer dat als hoe wat waar"
    " wie graag nu altijd of al liever sinds wordt kan mag ons er die deze dit",
    "swedish": "jag en ett och är var inte med på i om av till från för som har hade du han hon vi"
    " de min mitt mina sin men också mycket att när hur vad vem gillar det den detta så",
    "danish": "jeg en et og er var ikke med på i om af til fra for som har havde du han hun vi de"
    " min mit mine sin men også meget at når hvordan hvad hvem det den dette så",
    "norwegian": "jeg en et og er var ikke med på i om av til fra for som har hadde du han hun vi"
    " de min mitt mine sin men også mye at når hvordan hva hvem det den dette så",
    "finnish": "minä minun on olen ovat ei en ja että se hän me te he oli kun mutta myös joka mitä"
    " missä kuka kanssa niin olla tämä",
    "turkish": "ben benim bana çok ve bir bu şu o değil var yok için ile ama gibi daha ne kim"
    " nerede mi",
    "hungarian": "én a az és egy nem van volt vagyok hogy de is meg ez azt mi ki hol mikor nagyon",
    "romanian": "eu un o și este sunt nu cu în pe de la din pentru că mai dar foarte ai"
    " când unde cine",
    "indonesian": "saya aku yang dan di ke dari untuk dengan tidak ini itu adalah ada akan sudah"
    " kami kita dia mereka",
    # Listed to keep them from being mistaken for another language: Postgres has no stemmer for
    # them.
    "polish": "ja mój moja moje jestem mam lubię się nie i w na z to że jest do od po dla są był",
    "czech": "já můj jsem mám se není a v na z to že je do od po pro jsou byl ale také jak když",
    "vietnamese": "tôi của và là không có cho với trong này đã",
}
_WITHOUT = frozenset(
    {"polish", "czech", "vietnamese", "chinese", "japanese", "korean", "hebrew", "thai"}
)
_LEAST_WORDS = 3
"""Least number of words that identify a language in Latin letters reliably."""
_LANGUAGES: dict[str, tuple[str, ...]] = {}
for _language, _words in _TELLING.items():
    for _word in _words.split():
        _LANGUAGES[_word] = (*_LANGUAGES.get(_word, ()), _language)

# The letters of a script, and the language assumed for it. Then letters that only other languages
# of the script use, and the language that they indicate.
_SCRIPTS = (
    ("[\u0400-\u04ff]", "russian", "[ґєіїјљњћђџқңғүұһөәў]", UNKNOWN),
    ("[\u0370-\u03ff\u1f00-\u1fff]", "greek", None, UNKNOWN),
    ("[\u0600-\u06ff]", "arabic", "[پچژگٹڈڑے]", UNKNOWN),
    ("[\u0900-\u097f]", "hindi", None, UNKNOWN),
    ("[\u3040-\u30ff\u4e00-\u9fff]", "chinese", "[\u3040-\u30ff]", "japanese"),
    ("[\uac00-\ud7a3]", "korean", None, UNKNOWN),
    ("[\u0590-\u05ff]", "hebrew", None, UNKNOWN),
    ("[\u0e00-\u0e7f]", "thai", None, UNKNOWN),
)


def configuration_of(text: str) -> str:
    """Return the configuration for a text; `simple` if its language is unknown.

    ASCII text without an identifying word counts as English, the most frequent case.
    """
    read = text[:_READ_CHARS]
    if not read.isascii() and (script := _of_script(read)):
        return UNKNOWN if script in _WITHOUT else script
    words = _WORD.findall(read.lower())
    counts = _count_languages(words)
    if counts:
        best = _best(counts)
        return UNKNOWN if best in _WITHOUT else best
    return "english" if words and read.isascii() else UNKNOWN


def foreign_language(text: str, known: AbstractSet[str]) -> str | None:
    """Return the English name of a text's language if it is not one of the known ones.

    Return None in doubt: fewer than three words identify it, or as many identify a known one.
    """
    read = text[:_READ_CHARS]
    if not read.isascii() and (script := _of_script(read)):
        return None if script in {UNKNOWN, *known} else script
    counts = _count_languages(_WORD.findall(read.lower()))
    if not counts:
        return None
    best = _best(counts)
    rival = max((counts[language] for language in known), default=0)
    return best if counts[best] >= _LEAST_WORDS and counts[best] > rival else None


def is_function_word(word: str) -> bool:
    """Return True if a lower-case word is a function word of some language."""
    return word in _LANGUAGES


def telling(word: str) -> tuple[str, ...]:
    """Return the English names of the languages that a lower-case word identifies."""
    return _LANGUAGES.get(word, ())


def _count_languages(words: list[str]) -> Counter[str]:
    return Counter(language for word in words for language in _LANGUAGES.get(word, ()))


def _best(counts: Counter[str]) -> str:
    most = max(counts.values())
    return next(language for language in _TELLING if counts[language] == most)


def _of_script(text: str) -> str | None:
    count = sum(map(str.isalpha, text))
    for letters, language, others, other in _SCRIPTS:
        if len(re.findall(letters, text)) * 2 > count:
            has_others = others is not None and re.search(others, text, re.IGNORECASE)
            return other if has_others else language
    return None
