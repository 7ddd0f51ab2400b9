"""The selection of memories for a request to forget a thing, or all about the person who asks."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from app.kernel.text import fold
from app.language.lexicon import GENERIC, STOPS, language, word_set
from app.language.phrases import any_case
from app.language.slots import slots
from app.language.text import content, names, stem, straight, words

_SLOTS = (
    (
        "residence",
        (
            r"where (?:I|we) live|my home ?town|wo ich (?:wohne|lebe)|dónde vivo|donde vivo|où"
            r" j'habite"
            r"|my (?:residence|home)|meine(?:n)? wohnort|mi domicilio"
        ),
    ),
    (
        "employer",
        (
            r"where (?:I|we) work|my (?:employer|job|workplace|company)|wo ich arbeite|meine[nm]?"
            r" arbeitgeber"
            r"|dónde trabajo|donde trabajo|mi trabajo|où je travaille|mon (?:travail|employeur)"
        ),
    ),
    ("job", r"my (?:job|profession|occupation)|meinen beruf|mi profesión|mon métier"),
    ("name", r"my name|meinen namen|mi nombre|mon (?:nom|prénom)"),
    ("age", r"my age|how old I am|mein alter|wie alt ich bin|mi edad|mon âge"),
)
_SLOT_NAMES = tuple((kind, any_case(rf"^(?:{text})\W*$")) for kind, text in _SLOTS)
_THE_USER = any_case(r"\b(?:the|this) user\b")
_THE_USERS = any_case(r"\b(?:the|this) user's\b")
_EVERYTHING = any_case(
    r"(?:(?:about |of |über |de |sobre |sur )?(?:me|myself|mich|m[ií]|moi)"
    r"|(?:everything|all|anything|it all|all of it)(?: (?:that )?(?:you (?:\w+"
    r" )?(?:know"
    r"|have|remember|stored|saved)|I(?:'ve)? (?:ever )?(?:said|told you)))?(?: (?:about|on|of)"
    r" (?:me"
    r"|myself))?|(?:what(?:ever)? )(?:you know) about me"
    r"|(?:all )?(?:of )?(?:my|meine|mis|mes) (?:data|info|information|memories|daten|datos|données)"
    r"|alles(?: über mich)?,?(?: was (?:du|ich) (?:über mich |dir |jemals )*(?:weißt|gespeichert"
    r" hast|gesagt habe|erzählt habe))?|mich"
    r"|m[ií]|todo(?: lo que (?:sabes|te (?:he dicho|dije|conté)))?(?: (?:de|sobre) mí)?"
    r"|moi|tout(?: ce que (?:tu sais|je t'ai dit))?(?: (?:sur|de) moi)?)"
    r"(?: (?:please|bitte|por favor|s'il te plaît))?"
)
_MINE = any_case(r"(?:my|our|mein\w*|unser\w*|mis?|nuestr\w+|mon|ma|mes|notre|nos)\b")
_ALL = any_case(r"\b(?:everything|anything|all|whatever|alles|todo|tout)\b")


def is_everything(said: str) -> bool:
    """Return True if the words after "forget" mean all memories about the person."""
    return _EVERYTHING.fullmatch(straight(said).strip(" .!?,")) is not None


def means_everything(said: str) -> bool:
    """Return True if a model's words mean all memories; they may call the person "the user"."""
    mine = _THE_USERS.sub("my", straight(said))
    mine = _THE_USER.sub("me", mine)
    return not _named(mine) or is_everything(mine)


def is_request(said: str) -> bool:
    """Return True if the words after "forget" name something that can be forgotten."""
    return names_something(said) or is_everything(said)


def names_something(said: str) -> bool:
    """Return True if the words after "forget" name a thing at all.

    People do not call themselves "the user": such words address the service, not the memories.
    """
    return bool(_named(straight(said))) and not _THE_USER.search(said)


def _named(said: str, tongue: str = "") -> frozenset[str]:
    tongue = tongue or language(said, "en")
    # "Chat" is generic in other languages, but means a cat in French.
    empty = (GENERIC | _ORDERS) - ({"chat", "chats"} if tongue == "fr" else set())
    naming = [word for word in words(said, tongue) if word not in empty]
    return content(" ".join(naming), tongue)


_ORDERS = word_set("""
    forget delete erase wipe borra elimina olvida todas todos losche losch vergiss alle efface
    supprime oublie tous toutes anweisungen instrucciones
    """)
"""Words that repeat the request to forget without naming a thing."""


def means(said: str, fact: str) -> bool:
    """Return True if a request to forget `said` names the content of the memory `fact`."""
    said = straight(said)
    kinds = [kind for kind, pattern in _SLOT_NAMES if pattern.search(said.strip())]
    if any(slot.key == (kind, "self") for kind in kinds for slot in slots(fact, kind)):
        return True
    named = _named(said)
    if not named or not names_something(said):
        return False
    if _MINE.match(said.strip()) and _is_of_others(fact) and not _is_of_others(said):
        return False
    tongue = language(said, "en")
    return _covered(named, said, _stems(fact, tongue), tongue)


def _stems(fact: str, tongue: str) -> frozenset[str]:
    return frozenset(stem(word, tongue) for word in words(fact, tongue))


def _covered(named: frozenset[str], said: str, has: frozenset[str], tongue: str) -> bool:
    light = _likings(tongue)
    if named <= has:
        return True
    proper = frozenset(stem(name, tongue) for name in names(f"x {said}"))
    if tongue != "de" and proper and proper <= has and not (named - proper) - light - _KIN:
        return True
    return bool(named - light) and named - light <= has and bool(has & light)


def _likings(tongue: str) -> frozenset[str]:
    return frozenset(stem(fold(word), tongue) for word in _LIKINGS)


_LIKINGS = word_set("""
    like love enjoy prefer preference preferences favourite favorite mag liebe gern gerne
    bevorzuge vorliebe gusta gustan encanta prefiero preferencia aime adore préfère préférence
    """)
_KIN = word_set("ex friend brother sister boss colleague")
_FAMILIES = tuple(
    map(
        word_set,
        (
            """
            health ill illness sick disease condition allergy allergies allergic
            asthma diabetes diabetic doctor medication medicine pills therapy
            surgery diagnosed blood pressure migraine depression gesundheit krank
            krankheit allergie allergien allergisch arzt medikamente tabletten
            diagnose blutdruck bluthochdruck hypertension pill cachets comprimes tension
            asthme diabete salud enfermedad enfermo alergia alergias alergico
            alergica medico pastillas medicacion sante maladie malade
            allergique medecin medicaments traitement
            """,
            """
            home live lives address reside house flat apartment rent wohnort wohne
            wohnt adresse zuhause wohnung haus domicilio vivo direccion casa piso
            habite domicile maison logement appartement
            """,
            """
            job work works employer employed profession career boss colleagues
            arbeit arbeite arbeitgeber beruf chef firma trabajo empleo oficio jefe
            empresa travail travaille emploi metier patron entreprise
            """,
            """
            money wage wages salary pay income earn earns finances financial debt
            debts budget savings loan mortgage euros dollars pounds geld gehalt lohn
            verdiene einkommen finanzen schulden kredit dinero sueldo salario gano
            ingresos finanzas deudas hipoteca argent salaire gagne revenus finances
            dettes credit
            """,
            """
            faith religion religious church mosque temple synagogue pray prayer god
            christian muslim jewish buddhist hindu catholic glaube religion kirche
            moschee bete fe iglesia mezquita rezo foi eglise mosquee prie religieux
            mass messe misa priest priester katholisch evangelisch catolico
            catolica catholique musulman musulmana islam bible bibel biblia
            """,
            """
            phone telephone mobile cell telefon telefonnummer handy
            handynummer telefono movil portable
            """,
            """
            weight weigh weighs kilos kilo kg gewicht wiege wiegt
            abgenommen zugenommen peso adelgazado engordado poids pese maigri
            grossi
            """,
            """
            birthday birthdate birth born age geburtstag geburtsdatum geboren alter
            cumpleanos nacimiento naci edad anniversaire naissance
            """,
            """
            divorce divorced divorcing divorcee separated separation scheidung scheiden
            geschieden trennung getrennt divorcio divorcie divorciado divorciada
            separado separada divorcer separe separee
            """,
        ),
    )
)
"""Families of words: a request and a memory may use different words of one family."""
_LEAST_COSINE = 0.35
_LEAD = 0.1
"""The least similarity of the chosen memory, and its least lead over the next one."""


def meant(said: str, source: str, facts: Sequence[str], cosines: Mapping[int, float]) -> list[int]:
    """Return the positions of the facts to forget for a request.

    These are the facts with the words of the request. Without any, it is the only fact of the same
    word family, or all of them if the request asks for all. Otherwise, for an English request, it
    is the nearest fact by a clear margin, unless that is another thing of the same kind. `cosines`
    is empty if they are meaningless; the bundled model's are meaningful only in English.
    """
    named = [at for at, fact in enumerate(facts) if means(said, fact)]
    if named or not names_something(said):
        return named
    kin = _of_family(said, facts)
    if len(kin) == 1 or (kin and _ALL.search(source)):
        return kin
    ranked = sorted(cosines, key=lambda at: cosines[at], reverse=True)[:2]
    if not ranked or cosines[ranked[0]] < _LEAST_COSINE or language(said, "en") != "en":
        return []
    leads = len(ranked) == 1 or cosines[ranked[0]] - cosines[ranked[1]] >= _LEAD
    return ranked[:1] if leads and not is_another(said, facts[ranked[0]]) else []


def is_another(said: str, fact: str) -> bool:
    """Return True if both name a thing of one kind with different adjectives: "my red car"."""
    described, known = _described(said), _described(fact)
    return any(
        thing in known and not (of & known[thing]) and of and known[thing]
        for thing, of in described.items()
    )


def _described(text: str) -> dict[str, frozenset[str]]:
    """Return the words of an English text, each with the content of the preceding word."""
    text_words = words(text, "en")
    return {
        stem(thing, "en"): content(before, "en")
        for before, thing in pairwise(["", *text_words])
        if content(thing, "en")
    }


def _of_family(said: str, facts: Sequence[str]) -> list[int]:
    tongue = language(said, "en")
    asked = set(words(said, tongue)) - GENERIC
    family = next((words_of_kind for words_of_kind in _FAMILIES if asked & words_of_kind), None)
    # "My work shoes" and "my brother's illness" do not belong to a family.
    if family is None or asked - family - _OF_ANY - STOPS[tongue]:
        return []
    return [
        at
        for at, fact in enumerate(facts)
        if family & set(words(fact, language(fact, tongue))) and not _is_of_others(fact)
    ]


_OF_ANY = word_set("number nummer numero numéro information info details")
_OTHERS = any_case(
    r"\b(?!(?:it|that|he|she|there|what|who|let|here|how|where|everyone)'s)\w+'s (?!(?:an?|the|not"
    r"|been|going|called|named|gone|\w+ing)\b)|\b(?:mein|sein|ihr)(?:es|er) \w+"
    r"|\bde (?:mi|mis|su|sus|mon|ma|mes|son|sa|ses) \w+|^(?:my|mein[er]?|mi|mon|ma) \w*(?:"
    r"mother|father|mum|mom|dad|brother|sister|wife|husband|son|daughter|friend|boss|partner|aunt"
    r"|uncle|cousin|mutter|vater|bruder|schwester|frau|mann|sohn|tochter|freund|freundin|chefin?"
    r"|madre|padre|hermano|hermana|mujer|marido|hijo|hija|amigo|amiga|jefe|jefa|mère|père|frère"
    r"|sœur|femme|mari|fils|fille|ami|amie)\b"
)
"""Statements about people other than the speaker."""


def _is_of_others(text: str) -> bool:
    return _OTHERS.search(straight(text)) is not None
