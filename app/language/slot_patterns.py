"""The patterns that fill the slots of `slots.py`, for each language."""

from app.language.lexicon import word_set
from app.language.phrases import any_case

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
