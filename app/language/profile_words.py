"""Names of profile fields, and words that identify their values.

All names are spelled as `text.fold` spells them.
"""

import re

from app.kernel.text import fold
from app.language.lexicon import word_set
from app.language.slot_patterns import SPELLINGS

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
WEEKDAYS = word_set("""
    monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag
    freitag samstag sonntag lunes martes miercoles jueves viernes sabado domingo lundi mardi
    mercredi jeudi vendredi samedi dimanche
    """)
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
PLAIN = word_set("""
    favourite name nationality timezone username size hometown title language religion pronouns
    degree school university nationalitat nacionalidad nationalite
    """)
"""First or last words of fields with any words as values; other fields need a name or a number."""
NUMERIC = word_set("number budget height weight nummer budget grosse gewicht talla peso poids")
"""Last words of fields with numeric values."""
_MONTHS = (
    "january januar enero janvier jan",
    "february februar febrero fevrier feb",
    "march marz maerz marzo mars mar",
    "april abril avril apr",
    "may mai mayo",
    "june juni junio juin jun",
    "july juli julio juillet jul",
    "august agosto aout aug",
    "september septiembre septembre sep sept",
    "october oktober octubre octobre oct okt",
    "november noviembre novembre nov",
    "december dezember diciembre decembre dec dez",
)
MONTHS = {word: number for number, words in enumerate(_MONTHS, 1) for word in words.split()}
