"""Verbatim values for a person's properties, from plain statements; with the words of fields.

All names are spelled as `text.fold` spells them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from app.kernel.text import fold
from app.language.dates import WEEKDAY_NAMES
from app.language.lexicon import NEGATIONS, word_set
from app.language.phrases import any_case
from app.language.slots import COUNTRIES, SPELLINGS, Slot, slots
from app.language.text import straight
from app.language.unmeant import without_reports

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Words in a field's name that only refer to the user.
_NOISE = word_set("the user users my your their person customer customers current primary main")

_NAMES = {
    "name": "name|full name|fullname|complete name|nombre|nombre completo|nom|nom complet"
    "|vollstandiger name",
    "first name": "first name|firstname|given name|forename|vorname|nombre de pila|prenom",
    "last name": "last name|lastname|surname|family name|nachname|familienname|apellido|apellidos"
    "|nom de famille",
    "nickname": "nickname|nick name|preferred name|goes by|spitzname|rufname|apodo|surnom",
    "city": "city|town|home city|city of residence|residence city|wohnort|stadt|ciudad|ville",
    "residence": "residence|place of residence|location|home location|residencia|lugar de"
    " residencia|domicile|lieu de residence",
    "country": "country|country of residence|land|pais|pays",
    "address": "address|home address|postal address|mailing address|street address|adresse"
    "|anschrift|direccion",
    "employer": "employer|company|company name|workplace|organization|organisation|arbeitgeber"
    "|firma|empleador|empresa|employeur|entreprise",
    "job": "job|job title|occupation|profession|beruf|profesion|ocupacion|metier",
    "age": "age|alter|edad",
    "email": "email|e mail|mail|email address|e mail address|mail address|e mail adresse"
    "|mail adresse|mailadresse|emailadresse|correo|correo electronico|adresse e mail|adresse mail"
    "|courriel",
    "phone": "phone|phone number|telephone|telephone number|phone phone|phone phone number"
    "|contact number|telefon|telefonnummer|handynummer|telefono|numero de telefono"
    "|numero de telephone",
    "birthday": "birthday|birthdate|birth date|date of birth|dob|geburtstag|geburtsdatum"
    "|cumpleanos|fecha de nacimiento|anniversaire|date de naissance",
    "diet": "diet|dietary preference|dietary preferences|dietary restriction"
    "|dietary restrictions|eating habits|ernahrung|dieta|regime alimentaire",
    "marital": "marital status|relationship status|civil status|familienstand|estado civil"
    "|etat civil|situation familiale",
    "allergies": "allergies|allergy|food allergies|food allergy|allergens|known allergies"
    "|allergien|alergias",
    "hobbies": "hobbies|hobby|hobbys|interests|pastimes|aficiones|pasatiempos|loisirs",
    "languages": "languages|spoken languages|languages spoken|sprachen|idiomas|lenguas|langues",
}
KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split("|")}
"""The kind of value for each name of a field."""

PLACES = frozenset({"city", "residence", "country"})
"""The kinds that a residence fills: a request to forget it clears all of them."""
FILLED = PLACES | {
    *("name", "first name", "last name", "nickname", "age", "address", "employer", "job"),
    *("email", "phone", "diet", "allergies", "languages"),
}
"""The kinds of values that rules detect reliably."""

ASKED = {
    "where i live": "residence",
    "where we live": "residence",
    "wo ich wohne": "residence",
    "wo ich lebe": "residence",
    "donde vivo": "residence",
    "ou j habite": "residence",
    "ou jhabite": "residence",
    "where i work": "employer",
    "wo ich arbeite": "employer",
    "donde trabajo": "employer",
    "ou je travaille": "employer",
    "how old i am": "age",
    "wie alt ich bin": "age",
    "when i was born": "birthday",
}
"""The kind of value for phrases in a request to forget."""

_THINGS = {
    "colour": "farbe couleur",
    "food": "essen gericht comida plat plato nourriture dish",
    "drink": "getrank bebida boisson",
    "movie": "film pelicula",
    "book": "buch libro livre",
    "music": "musik musica musique",
    "song": "lied cancion chanson",
    "band": "banda groupe",
    "animal": "tier",
    "sport": "deporte",
    "team": "mannschaft verein equipo equipe",
    "season": "jahreszeit estacion saison",
    "city": "stadt ciudad ville",
    "game": "spiel juego jeu",
    "restaurant": "restaurante",
}
_THING = {word: thing for thing, synonyms in _THINGS.items() for word in synonyms.split()}
_FAVOURITE = word_set("favourite favorito favorita favori favorite prefere preferee preferido")


def thing(name: str) -> str:
    """Return one name for "favoriteColor", "favourite_color", "Lieblingsfarbe" and the like."""
    spelled = fold(_CAMEL.sub(" ", name).replace("_", " "))
    if spelled.startswith("lieblings"):
        spelled = f"favourite {spelled.removeprefix('lieblings').strip()}"
    words = [SPELLINGS.get(word, word) for word in spelled.split()]
    words = [word for word in words if word not in _NOISE] or words
    if _FAVOURITE & set(words):
        rest = [_THING.get(word, word) for word in words if word not in _FAVOURITE]
        return " ".join(["favourite", *rest])
    return " ".join(words)


def kind_of(name: str) -> str:
    """Return the kind of value for the name of a field or of a thing."""
    named = thing(name)
    return KINDS.get(named, named)


PROFESSIONS = word_set("""
    nurse teacher engineer developer programmer doctor physician surgeon dentist lawyer attorney
    accountant architect designer chef cook waiter waitress baker plumber electrician carpenter
    mechanic driver pilot journalist writer author editor photographer musician actor actress
    artist scientist researcher professor pharmacist therapist psychologist veterinarian vet
    librarian paramedic firefighter policeman policewoman soldier farmer gardener hairdresser
    barber consultant analyst salesman saleswoman translator interpreter tutor coach trainer
    midwife radiologist cardiologist nutritionist biologist chemist physicist mathematician
    economist statistician cashier bartender barista receptionist secretary paralegal
    krankenschwester krankenpfleger pfleger lehrer lehrerin ingenieur ingenieurin entwickler
    entwicklerin programmierer programmiererin arzt arztin zahnarzt anwalt anwaltin architekt
    architektin koch kochin backer schreiner elektriker mechaniker fahrer journalist journalistin
    fotograf fotografin ubersetzer ubersetzerin buchhalter buchhalterin physiotherapeut
    enfermero enfermera maestro maestra profesor profesora ingeniero ingeniera programador
    programadora desarrollador desarrolladora medico medica abogado abogada arquitecto arquitecta
    cocinero cocinera camarero camarera fontanero electricista carpintero mecanico conductor
    periodista escritor escritora fotografo fotografa musico actriz contador contadora
    infirmier infirmiere professeur professeure enseignant enseignante ingenieur developpeur
    developpeuse programmeur medecin avocat avocate architecte cuisinier cuisiniere serveur
    serveuse boulanger plombier electricien menuisier mecanicien journaliste ecrivain photographe
    musicien comptable pharmacien pharmacienne dentiste
    """)
NO_PROFESSION = word_set(
    "former ex retired aspiring future wannabe failed terrible bad big huge not like such"
)
NO_PLACE = word_set("""
    linux mac macos windows python rust golang java javascript typescript kotlin swift android ios
    iphone aws azure gcp kubernetes postgres notion slack teams marketing sales engineering product
    finance hr legal support premium management
    """)
"""Words after "moved to" that are not a new home."""
WEEKDAYS = frozenset(map(fold, WEEKDAY_NAMES))
LANGUAGES = word_set("""
    english german french spanish italian portuguese dutch polish turkish russian ukrainian arabic
    hebrew hindi urdu bengali chinese mandarin cantonese japanese korean vietnamese thai greek
    swedish norwegian danish finnish czech hungarian romanian catalan swahili persian farsi
    englisch deutsch franzosisch spanisch italienisch portugiesisch niederlandisch polnisch
    turkisch russisch arabisch chinesisch japanisch
    ingles aleman frances espanol castellano italiano portugues holandes ruso arabe chino japones
    anglais allemand francais espagnol italien portugais neerlandais russe chinois japonais
    """)
VAGUE = word_set("""
    something anything everything nothing things thing stuff it that this them those these him her
    what who none not sure unknown secret important different same great good bad fine broken late
    new old better worse changing complicated etwas alles nichts es das algo todo nada eso
    quelque chose tout rien ca cela many lot lots several various people certain some viele muchos
    muchas beaucoup
    """)
_MAX_WORDS = 5
_MAX_AGE = 120
# Imagined, quoted or hoped values do not count.
_SUPPOSED = any_case(
    r"\b(?:if|wish|would|might|maybe|perhaps|suppose|imagine|pretend|unless|whether|wenn|falls"
    r"|vielleicht|würde|wäre|ojalá|quizás?|tal vez|peut-être|si)\b"
)
_ARTICLE = any_case(
    r"(?:(?:the|an?|der|die|das|den|dem|eine?n?|(?:a )?(?:el|la|los|las)|al|una?|le|les|une?|des|du"
    r"|aux?|à la)\s+|(?:à )?l')"
)
_NAME = re.compile(
    r"[^\W\d_][\w'.-]*(?:\s+(?:(?:de|da|del|di|du|van|von|der|den|la|bin|al|y)\s+)*"
    r"[^\W\d_][\w'.-]*){0,3}"
)
_PARTICLES = word_set("de da del di du van von der den la bin al y")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_PHONE = re.compile(r"(?:(?:the|le|el|die)\s+)?(?P<value>[+(]?\d(?:[\s().\/-]{0,2}\d){5,17})")
_ADDRESS = any_case(r"[^;!?\n]{5,200}?(?=\.?\s*$|,? (?:and|und|y|et) (?:my|i|mein\w*|mi|mon)\b)")
_OCCUPATION = any_case(
    r"\b(?:I(?:'m| am)(?: now| currently)? an? |I work (?:at|for) [\w .&-]{1,40}? as an? "
    r"|ich bin (?:von beruf )?|(?:yo )?soy (?:una? )?"
    r"|je suis (?:une? )?)(?P<value>[\w-]+(?: [\w-]+){0,2}?)"
    r"(?=\s+(?:and|but|at|for|in|by|who|since|with|und|bei|in|y|en|et|à|chez)\b|\s*[,.;!]|\s*$)"
)
_LIST = r"(?P<items>[^.;:!?()]{2,200})"
_LISTS = (
    (
        "allergies",
        any_case(
            r"\b(?P<lead>(?:I(?:'m| am)|ich bin|(?:no )?soy|je (?:ne )?suis)(?: \w+){0,2} "
            r"(?:allergic to|allergisch (?:gegen|auf)|alérgic[oa] (?:a las?|a los|al?)"
            r"|allergique (?:aux|au|à la|à l'|à)))\s*" + _LIST
        ),
    ),
    (
        "languages",
        any_case(
            r"\b(?P<lead>(?:I(?: can| also)?(?: do not| don't)? speak|ich spreche(?: auch)?"
            r"|(?:no )?hablo(?: también)?|je (?:ne )?parle(?: aussi)?))\s+" + _LIST
        ),
    ),
)
_LIST_END = any_case(
    r",?\s+(?:too|as well|also|either|though|unfortunately|sadly|leider|auch|también|aussi|btw"
    r"|by the way|please|any ?more|any longer|mehr|plus|ya|because|but|so|since|which|when|that|if"
    r"|as|while|weil|aber|wenn|seit|porque|pero|desde"
    r"|cuando|parce|mais|depuis|quand)\b|,?\s+(?:and|und|y|et)\s+(?:I|my|ich|mein\w*|yo|mi|je"
    r"|mon)\b"
    r"|\s+j'"
)
_AND = any_case(
    r"\s*,\s*(?:(?:and|or|und|oder|y|o|et|ou)\s+)?|\s+(?:and|or|und|oder|y|e|o|et|ou|&)\s+"
)
_FLUENTLY = any_case(
    r"^(?:fluent|good|some|a (?:little|bit of)|fließend|un poco de|un peu)\s+|\s+(?:fluently|well"
    r"|fließend)$"
)


@dataclass(frozen=True)
class ProfileReading:
    """A value of one kind that a person has, or (`gone`) no longer has or never had.

    `kind` is one of `FILLED`.
    """

    kind: str
    value: str | tuple[str, ...]
    gone: bool = False


def readings(text: str) -> list[ProfileReading]:
    """Return the values that a statement gives for its speaker."""
    plain = without_reports(straight(text))
    if is_supposed(plain):
        return []
    lists = list(_lists(plain))
    own = [slot for slot in slots(plain) if slot.key[1:2] == ("self",)]
    single_values = [reading for slot in own for reading in _of_slot(plain, slot)]
    return list(dict.fromkeys([*single_values, *_occupation(plain), *lists]))


def is_supposed(text: str) -> bool:
    """Return True if a statement is only imagined or hoped."""
    return bool(_SUPPOSED.search(text))


def _of_slot(text: str, slot: Slot) -> Iterator[ProfileReading]:
    kind = slot.key[0]
    gone = slot.gone or bool(NEGATIONS.search(text[slot.start : slot.begin]))
    raw = _whole_words(text, slot)
    if kind == "attribute":
        kind = kind_of(slot.key[2])
    for typed_kind, value in _typed(kind, raw, text, slot):
        yield ProfileReading(typed_kind, value, gone)


_REST = re.compile(r"(?:\w|(?<=\d)[.,:]\d)+")


def _whole_words(text: str, slot: Slot) -> str:
    """Extend the value to the end of its last word, since some patterns cut it off."""
    rest = _REST.match(text, slot.end)
    return text[slot.begin : rest.end() if rest else slot.end].strip()


def _typed(kind: str, raw: str, text: str, slot: Slot) -> Iterator[tuple[str, str]]:
    match kind:
        case "name":
            yield from _names(raw)
        case "residence":
            yield from _places(raw, text[slot.end :])
        case "email" | "phone" | "address":
            yield from _matched(kind, text, slot.begin)
        case _:
            value = raw if kind in _NAMED else _bare(raw)
            if kind == "job":
                value = _AT.split(value, maxsplit=1)[0]
            if _fits(kind, value, text, slot):
                yield kind, value


_NAMED = frozenset({"nickname", "first name", "last name"})
_AT = any_case(r"\s+(?:at|for|in|bei|beim|im|für|en|para|chez|à|dans|pour)\s")


def _fits(kind: str, value: str, text: str, slot: Slot) -> bool:
    if kind == "job":
        return _is_job(value, text[slot.start : slot.begin])
    if kind == "diet":
        return bool(_EATS.search(text[slot.start : slot.begin])) and not _noun_after(text, slot)
    check = _CHECKS.get(kind)
    return check is not None and check(value)


def _bare(raw: str) -> str:
    article = _ARTICLE.match(raw)
    return raw[article.end() :] if article and article.end() < len(raw) else raw


def _is_titled(value: str) -> bool:
    """Return True if a value looks like the name of a thing: "Acme", "3M"."""
    return (value[:1].isupper() or value[:1].isdigit()) and len(value.split()) <= _MAX_WORDS


def _is_name(value: str) -> bool:
    """Return True if a value is a person's name."""
    words = value.split()
    real = [word for word in words if word not in _PARTICLES]
    return (
        _NAME.fullmatch(value) is not None
        and bool(real)
        and all(word[0].isupper() for word in real)
        and not (VAGUE | WEEKDAYS) & set(fold(value).split())
    )


def _is_age(value: str) -> bool:
    return value.isdecimal() and 0 < int(value) <= _MAX_AGE


def _noun_after(text: str, slot: Slot) -> bool:
    rest = _REST.match(text, slot.end)
    return _MORE.match(text, rest.end() if rest else slot.end) is not None


_EATS = any_case(
    r"(?:\b(?:am|become|became|went|turned|gone|bin|lebe|esse|ernähre mich|soy|hice|hecho|suis)\b"
    r"|'m\b)"
)
_MORE = any_case(
    r"\s+(?!(?:and|but|now|since|for|because|so|these|at|in|again|who|und|aber|seit|jetzt|y|pero"
    r"|desde|et|mais|depuis)\b)\w"
)
_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "first name": _is_name,
    "last name": _is_name,
    "nickname": _is_name,
    "employer": _is_titled,
    "age": _is_age,
    "city": _is_titled,
    "country": _is_titled,
}


def _names(raw: str) -> Iterator[tuple[str, str]]:
    if not _is_name(raw):
        return
    yield "name", raw
    words = raw.split()
    if len(words) <= 2:
        yield "first name", words[0]
    if len(words) == 2:
        yield "last name", words[1]


def _places(raw: str, after: str) -> Iterator[tuple[str, str]]:
    place = _bare(raw)
    words = set(fold(place).split())
    if not _is_titled(place) or re.search(r"\d", place) or NO_PLACE & words:
        return
    yield "residence", place
    if fold(place) in COUNTRIES:
        yield "country", place
        return
    yield "city", place
    further = re.match(r",\s+(?P<country>[^\W\d_][\w' -]*)", after)
    if further and fold(further["country"]) in COUNTRIES:
        yield "country", further["country"].strip()


def _is_job(raw: str, before: str) -> bool:
    words = fold(raw).split()
    if not words or len(words) > _MAX_WORDS or NO_PROFESSION & set(words):
        return False
    english = re.search(r"\bas an? $", before, re.IGNORECASE) is not None
    german = re.search(r"\bals (?:eine? )?$", before, re.IGNORECASE) and raw[:1].isupper()
    return words[-1] in PROFESSIONS or words[0] in PROFESSIONS or english or bool(german)


def _matched(kind: str, text: str, begin: int) -> Iterator[tuple[str, str]]:
    """Yield a value with a typical form; it may be longer than the slot's value."""
    match kind:
        case "email":
            match = _EMAIL.match(text, begin)
            if match:
                yield kind, match.group().rstrip(".")
        case "phone":
            match = _PHONE.match(text, begin)
            if match:
                yield kind, match["value"]
        case _:
            match = _ADDRESS.match(text, begin)
            if match and any(digit.isdigit() for digit in match.group()):
                yield kind, match.group().strip(" .,")


def _occupation(text: str) -> Iterator[ProfileReading]:
    for match in _OCCUPATION.finditer(text):
        words = fold(match["value"]).split()
        if not NO_PROFESSION & set(words) and words[-1] in PROFESSIONS:
            yield ProfileReading("job", match["value"])


def _lists(text: str) -> Iterator[ProfileReading]:
    for kind, pattern in _LISTS:
        for match in pattern.finditer(text):
            items = _items(match["items"], LANGUAGES if kind == "languages" else None)
            if items:
                yield ProfileReading(kind, items, gone=bool(NEGATIONS.search(match["lead"])))


def _items(text: str, known: frozenset[str] | None) -> tuple[str, ...]:
    end = _LIST_END.search(text)
    parts = _AND.split(text[: end.start()] if end else text)
    items = [_bare(_FLUENTLY.sub("", part.strip())) for part in parts if part.strip()]
    return tuple(items) if items and all(_is_item(item, known) for item in items) else ()


def _is_item(item: str, known: frozenset[str] | None) -> bool:
    words = fold(item).split()
    if known is not None:
        return fold(item) in known
    return 0 < len(words) < _MAX_WORDS and not VAGUE & set(words)
