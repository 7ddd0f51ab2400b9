"""Statements about things with only one value at a time, and their patterns by language.

"I live in Rome" fills the slot of the residence; a later "I moved to Oslo" refills it. Slots have
the same names in all languages: a German sentence can overrule an English one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.kernel.text import fold
from app.language.lexicon import word_set
from app.language.phrases import any_case
from app.language.text import content, straight
from app.language.unmeant import without_reports
from app.language.values import kinds_of

# The end of a value: another clause, a time or a reason follows.
_STOP = (
    r"(?=\s+(?:and|but|because|since|with|for|now|right now|anymore|any more|any longer|these days"
    r"|at the moment|currently|instead|last|this|next|yesterday|where|which|who|so|after|when|from"
    r"|in \d"
    r"|until|though|although|if|as|again|und|aber|weil|seit|mit|jetzt|nicht|gezogen|umgezogen|mehr"
    r"|wieder"
    r"|y|pero|porque|desde|con|ahora|hace|et|mais|parce|depuis|avec|maintenant|il y a|pour)\b"
    r"|\s*[,.;:!?()]|\s*$|\s+-)"
)
_V = rf"(?P<value>[^,.;:!?()]{{1,60}}?){_STOP}"
_I = r"\b(?P<owner>I|we|the user|user|my \w+|(?-i:[A-Z])\w+)"
_HAVE = r"(?:(?:'ve| have| has)\b)?"
_ADV = (
    r"(?: (?:now|currently|still|actually|really|just|recently|finally|also|always|usually"
    r"|definitely))*"
)
_NOT_ANY = r" (?:no longer|do(?:es)?n't|do(?:es)? not)"

_ENGLISH = (
    (
        "residence",
        (
            rf"{_I}{_ADV}(?:'m| am| is)?{_ADV} (?:lives?|reside[sd]?|living|based)(?: now)?"
            rf" (?:in|at"
            rf"|near) {_V}"
        ),
    ),
    (
        "residence",
        (
            rf"{_I}{_HAVE}{_ADV} (?:moved|relocated)(?: back| house| over| (?:away )?from [\w"
            rf" ]{{1,30}}?)? to {_V}"
        ),
    ),
    ("residence", rf"{_I}(?:'ve| have| has) lived in {_V}"),
    (
        "residence-gone",
        rf"{_I}(?:{_NOT_ANY} live in| used to live in| moved (?:away from|out of)) {_V}",
    ),
    (
        "employer",
        (
            rf"{_I}{_ADV}(?:'m| am| is)?{_ADV} (?:works?|working|employed)(?: now)? (?:at|for)"
            rf" (?!home|night|the moment|an? |my ){_V}"
        ),
    ),
    (
        "employer",
        (
            rf"{_I}{_HAVE}{_ADV} started(?: (?:working|work|a (?:new )?job|my new job))? (?:at|for)"
            rf" (?!home|the ){_V}"
        ),
    ),
    (
        "employer",
        rf"{_I}{_HAVE}{_ADV} joined (?P<value>(?-i:[A-Z])[\w&.-]*(?: (?-i:[A-Z])[\w&.-]*){{0,3}})",
    ),
    (
        "employer-gone",
        (
            rf"{_I}(?:{_NOT_ANY} work (?:at|for)| used to work (?:at|for)|{_HAVE}{_ADV} (?:quit"
            rf"|left)(?: my job at)?) {_V}"
        ),
    ),
    (
        "job",
        (
            rf"{_I}{_ADV}(?:'m| am| is)?{_ADV} (?:works?|working|employed)(?: now)? as (?:an? |the"
            rf" )?{_V}"
        ),
    ),
    ("name", rf"\b(?:my|the user's)(?: full)? name(?:'s| is)(?: now)? {_V}"),
    ("nickname", rf"\b(?:call|address) me {_V}"),
    (
        "age",
        (
            r"\b(?P<owner>I|the user|my \w+)(?:'m| am| is|(?: just| recently)? turned)"
            r" (?P<value>\d{1,3})(?= years? old| now\b|[,.;!]|$| and\b)"
        ),
    ),
    (
        "diet",
        (
            r"\b(?P<owner>I|the user|my \w+)(?:'m| am| is|'ve| have| has)?(?: (?:not|no longer|n't"
            r"|never|now|actually|still|really|become|became|went|turned|gone|been|a|an|strictly"
            r"|strict|any ?more|also|just|recently|mostly|currently)){0,4} (?P<value>vegan"
            r"|vegetarian|pescatarian|omnivore)\b"
        ),
    ),
    (
        "marital",
        (
            r"\b(?P<owner>I|the user|my \w+)(?:'m| am| is| got| just got)(?: now| recently|"
            r" happily)?"
            r" (?P<value>single|married|divorced|engaged|widowed)\b"
        ),
    ),
    (
        "attribute",
        (
            rf"\b(?P<owner>my|our|the user's|user's|(?-i:[A-Z])\w+'s) (?P<thing>[\w'-]+(?:"
            rf" [\w'-]+){{0,4}}?)(?:'s| is| are| has| was)?(?: now| actually| currently)?(?:"
            rf" is| are|"
            rf" changed to| moved to| been (?:moved|changed|rescheduled) to| (?:moved|changed"
            rf"|rescheduled|postponed) to| called| named)(?: now| actually| currently| called|"
            rf" named)?(?P<not> not)? {_V}"
        ),
    ),
    (
        "attribute",
        (
            r"\b(?P<value>[\w' -]{2,40}?) (?:is|are)(?: now)? (?P<owner>my) (?P<thing>(?:new"
            r" )?favou?rite \w+(?: \w+)?)"
        ),
    ),
    (
        "over",
        (
            rf"{_I}{_ADV}(?:'d)? (?:prefers?|choose|like) (?!to )(?P<value>[\w' -]{{2,40}}?)"
            rf" (?:over"
            rf"|to|rather than|instead of|(?:better|more) than) (?P<other>[\w' -]{{2,40}}?){_STOP}"
        ),
    ),
    ("prefer", rf"{_I}{_ADV}(?:'d)?{_ADV} prefers?(?! to\b) {_V}"),
)
_GERMAN = (
    (
        "residence",
        (
            rf"\b(?:ich (?:wohne|lebe)|(?:wohne|lebe) ich|wir (?:wohnen|leben)|(?:wohnen"
            rf"|leben) wir)(?: (?:jetzt|nun|inzwischen|mittlerweile"
            rf"|aktuell|seit \w+ \w+|seit \d+))* in (?:der |die |dem )?{_V}"
        ),
    ),
    (
        "residence",
        (
            rf"\b(?:ich (?:bin|wohne)|bin ich|wir sind|sind wir)(?: [\w().,/-]+){{0,6}}? (?:nach"
            rf"|in die|in den)"
            rf" {_V}(?="
            rf" (?:um)?gezogen)"
        ),
    ),
    ("residence", r"\bich in (?P<value>[\w-]+(?: [\w-]+)?) (?:wohne|lebe)\b"),
    ("residence-gone", rf"\bich (?:wohne|lebe) nicht mehr in {_V}"),
    (
        "employer",
        (
            rf"\b(?:ich arbeite|arbeite ich)(?: (?:jetzt|nun|inzwischen|mittlerweile|aktuell"
            rf"|seit \w+"
            rf" \w+|seit \d+))* (?:bei|für) (?:der |dem |den )?{_V}"
        ),
    ),
    ("job", rf"\b(?:ich arbeite|arbeite ich)(?: (?:jetzt|nun|inzwischen|mittlerweile))* als {_V}"),
    ("name", rf"\b(?:ich hei(?:ß|ss)e|mein name ist) {_V}"),
    ("nickname", rf"\bnenn\w* mich(?: bitte)? {_V}"),
    (
        "age",
        (
            r"\b(?P<owner>ich)(?: bin| werde)(?: jetzt| gerade)? (?P<value>\d{1,3})(?= jahre|"
            r" geworden|[,.;!]|$)"
        ),
    ),
    (
        "diet",
        (
            r"\bich (?:bin|lebe|esse|ernähre mich)(?: (?!mein)\w+){0,4}? (?P<value>vegan"
            r"|vegetari)\w*"
        ),
    ),
    (
        "marital",
        (
            r"\bich bin(?: jetzt| inzwischen)? (?P<value>ledig|verheiratet|geschieden|verlobt"
            r"|verwitwet|single)\b"
        ),
    ),
    (
        "attribute",
        (
            rf"\b(?P<owner>meine?|unsere?) (?P<thing>(?:neue[rs]? )?[\wäöüß-]+(?: [\wäöüß-]+)?)"
            rf" (?:ist|sind|heißt|lautet)(?: jetzt| nun| inzwischen| mittlerweile|"
            rf" aktuell)?(?P<not>"
            rf" nicht(?: mehr)?)? {_V}"
        ),
    ),
    (
        "over",
        (
            rf"\bich bevorzuge(?: jetzt)? (?P<value>[\w -]{{2,40}}?) (?:gegenüber|vor|statt|anstatt"
            rf"|anstelle von) (?P<other>[\w -]{{2,40}}?){_STOP}"
        ),
    ),
    (
        "over",
        (
            rf"\b(?:ich (?:mag|trinke|esse|habe|nehme|fahre) )?(?:lieber )(?P<value>[\w"
            rf" -]{{2,40}}?)"
            rf" als (?P<other>[\w -]{{2,40}}?){_STOP}"
        ),
    ),
    (
        "over",
        r"\bich ziehe (?P<value>[\w -]{2,40}?) (?:dem|der|den) (?P<other>[\w -]{2,40}?) vor\b",
    ),
    ("prefer", rf"\bich bevorzuge(?: jetzt| inzwischen)? {_V}"),
    (
        "prefer",
        rf"\b(?:ich )?(?:sitze|nehme|möchte|hätte)(?: ich)?(?: jetzt| inzwischen)? lieber {_V}",
    ),
)
_SPANISH = (
    (
        "residence",
        (
            rf"\b(?:yo )?(?:ahora |actualmente |ya )?(?<!no )(?:vivo|vivimos|resido)(?: ahora|"
            rf" actualmente)?"
            rf" en {_V}"
        ),
    ),
    (
        "residence",
        (
            rf"\b(?:me (?:acabo de mudar|he mudado|mudé)|nos (?:mudamos|hemos mudado"
            rf"|acabamos de mudar))(?: [\w()/-]+){{0,4}}? a"
            rf" (?!una?"
            rf" ){_V}"
        ),
    ),
    ("residence-gone", rf"\b(?:ya no vivo en|antes vivía en) {_V}"),
    (
        "employer",
        rf"\b(?:ahora |actualmente )?(?<!no )trabajo(?: ahora)? (?:en|para) (?!casa|una? |el ){_V}",
    ),
    ("employer-gone", rf"\bya no trabajo (?:en|para) {_V}"),
    ("job", rf"\btrabajo(?: ahora)? (?:como|de) {_V}"),
    ("name", rf"\b(?:me llamo|mi nombre es) {_V}"),
    ("nickname", rf"\bllámame {_V}"),
    ("age", r"\b(?:tengo|cumplí|(?:he|acabo de) cumpli(?:do|r)) (?P<value>\d{1,3})(?= años)"),
    (
        "diet",
        (
            r"\b(?:(?:ya )?no |nunca )?(?:soy|me he hecho|me hice)(?: ahora)? (?P<value>vegan"
            r"|vegetarian)[oa]\b"
        ),
    ),
    ("marital", r"\bestoy(?: ahora)? (?P<value>solter|casad|divorciad|prometid)[oa]\b"),
    (
        "attribute",
        (
            rf"\b(?P<owner>mi|nuestr[oa]) (?P<thing>(?:nuev[oa] )?[\wáéíóúñ-]+(?: (?:de"
            rf" )?[\wáéíóúñ-]+)?) (?:es|son|se llama|está en)(?: ahora)? {_V}"
        ),
    ),
    (
        "over",
        (
            rf"\bprefiero (?P<value>[\w -]{{2,40}}?) (?:antes que|en lugar de|en vez de|que|al?)"
            rf" (?:el |la |los |las )?(?P<other>[\w -]{{2,40}}?){_STOP}"
        ),
    ),
    ("prefer", rf"\b(?:ahora )?prefiero(?: ahora)? {_V}"),
)
_FRENCH = (
    (
        "residence",
        (
            rf"(?:\bj'(?:habite|habites)|\bje (?:vis|réside)|\bon (?:habite|vit)"
            rf"|\bnous (?:habitons|vivons))(?: maintenant| désormais|"
            rf" actuellement)? (?:à|en|au|aux) {_V}"
        ),
    ),
    (
        "residence",
        (
            rf"(?:\bj'ai|\bnous avons|\bon a|\bje viens d[e'])(?: récemment| enfin"
            rf"| juste)? ?(?:déménagé"
            rf"|emménagé|déménager)(?: [\w()/-]+){{0,4}}? (?:à|en|au|aux) {_V}"
        ),
    ),
    ("residence-gone", rf"(?:\bje n'habite plus|\bje ne vis plus) (?:à|en|au|aux) {_V}"),
    ("employer", rf"\bje travaille(?: maintenant| désormais| actuellement)? (?:chez|pour) {_V}"),
    ("employer-gone", rf"\bje ne travaille plus (?:chez|pour) {_V}"),
    ("job", rf"\bje travaille(?: maintenant| désormais)? comme {_V}"),
    ("name", rf"\b(?:je m'appelle|mon nom est|mon prénom est) {_V}"),
    ("nickname", rf"\bappelle[sz]?-moi {_V}"),
    ("age", r"\bj'ai (?P<value>\d{1,3})(?= ans)"),
    (
        "diet",
        (
            r"\bje (?:ne )?suis(?: (?:maintenant|devenue?|plus|pas|désormais|une?)){0,2}"
            r" (?P<value>végan|vegan|végétarien)\w*"
        ),
    ),
    ("marital", r"\bje suis(?: maintenant)? (?P<value>célibataire|marié|divorcé|fiancé)e?\b"),
    (
        "attribute",
        (
            rf"\b(?P<owner>mon|ma|notre) (?P<thing>(?:nouve\w+ )?[\w-]+(?: (?:de )?[\w-]+)?) (?:est"
            rf"|sont|s'appelle)(?: maintenant| désormais)? {_V}"
        ),
    ),
    (
        "over",
        (
            rf"\bje préfère (?P<value>[\w' -]{{2,40}}?) (?:à|au|aux|plutôt que) (?:la |le |les "
            rf"|l')?(?P<other>[\w' -]{{2,40}}?){_STOP}"
        ),
    ),
    ("prefer", rf"\bje préfère(?: maintenant| désormais)? {_V}"),
)
PATTERNS = tuple((kind, any_case(text)) for kind, text in _ENGLISH + _GERMAN + _SPANISH + _FRENCH)
"""Pairs of a kind of slot (with `-gone` if the value is denied) and its pattern."""

SPELLINGS = {"favorite": "favourite", "color": "colour", "cell": "phone", "mobile": "phone"}
SINGLE = word_set("""
    name names age birthday birthdate address email mail phone number favourite profession
    occupation nationality timezone budget hometown height weight size diet username geburtstag
    adresse telefonnummer handynummer nummer beruf alter größe grosse gewicht nombre edad
    cumpleaños cumpleanos direccion correo telefono numero favorito favorita profesion
    presupuesto talla nom prenom anniversaire telephone preferee prefere favori favorite metier
    taille poids
    """)
MANY = word_set("""
    friend friends brother brothers sister sisters son sons daughter daughters child children
    kid kids cousin cousins aunt uncle neighbour neighbor colleague coworker niece nephew hobby
    hobbies bruder schwester freund freundin sohn tochter kind tante onkel kollege hermano
    hermana amigo amiga hijo hija primo tia tio frere soeur ami amie fils fille oncle
    """)
"""People and things usually owned in the plural: a second name does not replace the first."""
COLOURS = word_set("""
    red blue green yellow black white purple orange pink brown grey gray turquoise rot blau grün
    gelb schwarz weiß lila rosa braun rojo azul verde amarillo negro blanco morado rouge bleu
    vert jaune noir blanc violet
    """)
COUNTRIES = word_set("""
    germany france spain italy portugal austria switzerland england scotland ireland poland
    sweden norway denmark finland netherlands belgium greece turkey ukraine russia china japan
    india brazil mexico argentina canada australia usa us uk america egypt nigeria kenya korea
    thailand vietnam indonesia europe asia africa california texas deutschland frankreich
    spanien italien österreich schweiz osterreich polen schweden norwegen niederlande england
    alemania francia españa espana italia suiza reino mexico argentina chile peru colombia
    allemagne france espagne italie suisse belgique canada
    """)


@dataclass(frozen=True)
class Slot:
    """A value that a person or thing has, or (`gone`) no longer has.

    `begin` and `end` enclose the value in the text, `start` and `stop` the whole statement.
    """

    key: tuple[str, ...]
    value: str
    raw: str
    begin: int
    end: int
    start: int
    stop: int
    gone: bool = False


def slots(text: str, kind: str = "") -> list[Slot]:
    """Return the slots filled by the text, of one kind or all, in the order of the patterns."""
    plain = without_reports(straight(text))
    patterns = _OF_KIND[kind] if kind else PATTERNS
    filled = [slot for name, pattern in patterns for slot in _filled(plain, name, pattern)]
    if any(slot.key[0] == "over" for slot in filled):  # "tea over coffee" is no plain preference
        filled = [slot for slot in filled if slot.key[0] != "prefer"]
    return [slot for slot in filled if slot.key[0] == kind] if kind else filled


def _of_kind(kind: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    names = {kind, f"{kind}-gone"} | ({"over"} if kind == "prefer" else set())
    return tuple(pair for pair in PATTERNS if pair[0] in names)


_OF_KIND = {kind: _of_kind(kind) for kind in {name.removesuffix("-gone") for name, _ in PATTERNS}}


def _filled(text: str, kind: str, pattern: re.Pattern[str]) -> Iterator[Slot]:
    for match in pattern.finditer(text):
        groups = match.groupdict()
        value = _value(groups["value"])
        key = _key(kind.removesuffix("-gone"), groups | {"text": match.group()}, value)
        if key is None or not value:
            continue
        yield Slot(
            key,
            value,
            match["value"],
            *match.span("value"),
            *match.span(),
            gone=kind.endswith("-gone") or _is_denied(text, match),
        )


def _is_denied(text: str, match: re.Match[str]) -> bool:
    before = text[match.start() : match.start("value")]
    return bool(_DENIED.search(before) or _DENIED_AFTER.match(text, match.end("value")))


_DENIED = any_case(
    r"\b(?:not|no longer|never|nicht|kein\w*|nie|nunca|jamás|no|plus|pas|jamais|n'\w+ (?:plus"
    r"|pas))\b"
    r"|n't\b"
)
_DENIED_AFTER = any_case(r"\w*\s+(?:nicht|no more|no longer)\b")


def _value(text: str) -> str:
    words = fold(text).split()
    # Alone it is no article: French "thé" folds to "the".
    return " ".join(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)


_ARTICLES = word_set("the a an der die das el la le les")


def _key(kind: str, groups: dict[str, str | None], value: str) -> tuple[str, ...] | None:
    owner = _owner(groups)
    match kind:
        case "attribute":
            return _attribute_key(owner, groups)
        case "over":
            pair = sorted((value, _value(groups.get("other") or "")))
            return ("over", owner, *pair)
        case "residence":
            dwelling = re.match(
                r"(?:an?|my|our|his|her|their|eine?[mnr]?|un[ae]?)\b", groups["value"] or ""
            )
            return None if dwelling else ("residence", owner)
        case _:
            return (kind, owner)


def _owner(groups: dict[str, str | None]) -> str:
    """Return "self" for the speaker, written as "I" or as "the user"."""
    owner = fold(groups.get("owner") or "")
    return owner if owner and owner not in _SELF else "self"


_SELF = word_set("i we my our the user user users the users ich mein meine yo mi je j mon ma") | {
    "the user",
    "the users",
}


def _attribute_key(owner: str, groups: dict[str, str | None]) -> tuple[str, ...] | None:
    """Return one key for "my dog's name is", "my dog is called" and "mein Hund heißt"."""
    words = [SPELLINGS.get(word, word) for word in fold(groups.get("thing") or "").split()]
    words = [word for word in words if word not in _NEW]
    if words == ["number"]:
        words = ["phone", "number"]
    if len(words) > 1 and words[-1] == "name":
        words[-2] = words[-2].removesuffix("s")
    elif _CALLED.search(groups.get("text") or ""):
        words.append("name")
    return ("attribute", owner, " ".join(words)) if words else None


_NEW = word_set("new current neue neuer neues nuevo nueva nouveau nouvelle")
_CALLED = any_case(r"\b(?:called|named|heißt|se llama|s'appelle)\b")


def rivals(new: Slot, old: Slot) -> bool:
    """Return True if the older statement cannot be true together with the newer one."""
    if new.key != old.key or (new.gone and old.gone):
        return False
    alike = _alike(new.value, old.value)
    if new.gone or old.gone:
        return alike
    return not alike and _exclusive(new, old)


def restates(new: Slot, old: Slot) -> bool:
    """Return True if both statements give the same value."""
    return new.key == old.key and new.gone == old.gone and new.value == old.value


def _alike(value: str, other: str) -> bool:
    """Return True if one value only extends the other ("Rome", "Rome, Italy")."""
    first, second = set(value.split()), set(other.split())
    return first <= second or second <= first


def _exclusive(new: Slot, old: Slot) -> bool:
    match new.key[0]:
        case "residence":
            return (new.value in COUNTRIES) == (old.value in COUNTRIES)
        case "attribute":
            return _attribute_exclusive(new, old)
        case "prefer":
            return _same_head(new.value, old.value)
        case _:
            return True


def _attribute_exclusive(new: Slot, old: Slot) -> bool:
    """Return True if the thing has one value: a birthday, a colour, two values of one kind."""
    thing = new.key[2].split()
    if any(word in MANY for word in thing):
        return False
    kinds = _kind(new), _kind(old)
    if any(word in SINGLE or word.startswith("lieblings") for word in (thing[0], thing[-1])):
        return (kinds[0] == "number") == (kinds[1] == "number")
    if kinds[0] == kinds[1] == "number":
        return bool(kinds_of(new.raw) & kinds_of(old.raw))
    return kinds[0] == kinds[1] != "other"


_CONDITION = re.compile(
    r"\b(?:on|in|for|at|when|during|auf|bei|beim|im|für|en|para|sur|pour|dans)\b"
)


def _same_head(new: str, old: str) -> bool:
    """Return True if two preferences are choices of one kind: "aisle seats", "window seats"."""
    (new_thing, new_when), (old_thing, old_when) = _conditioned(new), _conditioned(old)
    if not new_thing or not old_thing or (new_when and new_when != old_when):
        return False
    return new_thing[-1] == old_thing[-1] or new_thing[0] == old_thing[0]


def _conditioned(value: str) -> tuple[list[str], str]:
    """Split "aisle seats on long flights" into the singular thing and its condition."""
    match = _CONDITION.search(value)
    thing, when = (value[: match.start()], value[match.start() :]) if match else (value, "")
    return [word.removesuffix("s") for word in thing.split()], when


def _kind(slot: Slot) -> str:
    if re.search(r"\d", slot.raw):
        return "number"
    if set(slot.value.split()) & COLOURS:
        return "colour"
    if re.match(
        r"(?:on |am |el |le )?(?:mon|tues|wednes|thurs|fri|satur|sun)day", slot.raw, re.IGNORECASE
    ):
        return "day"
    if slot.raw[:1].isupper():
        return "name"
    return "other"


def besides(text: str, slot: Slot) -> frozenset[str]:
    """Return the stems of the text outside the slot, without words of time and change."""
    rest = f"{text[: slot.start]} {text[slot.stop :]}"
    return frozenset(stem for stem in content(rest) if stem not in _PASSING and not stem.isdigit())


_PASSING = word_set("""
    now since year years month month week for currently recently actually anymore longer instead
    jetzt seit jahr jahren monat inzwisch mittlerweil ahora desde ano anos mes meses actual
    maintenant depuis ans an moi last next ago new old curr recent actual day day mor yea mont
    wee
    """)
