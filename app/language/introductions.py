"""Sentences about who one is: introductions by name, and sentences that omit "I am"."""

import re

from app.kernel.text import fold
from app.language.lexicon import word_set
from app.language.phrases import QUESTION, any_case
from app.language.profile_words import LANGUAGES, PROFESSIONS, WEEKDAYS
from app.language.text import straight

_NAME = (
    r"(?P<name>[^\W\d_a-zß-ÿ][\w'-]+(?: [^\W\d_a-zß-ÿ][\w'-]+)?)"
    r"(?: speaking| here)?(?:[\s.!,]*$|, )"
)
_INTRODUCTIONS = {
    "en": (rf"(?:I'm|I am|[Tt]his is|it's|the name's|my name's) {_NAME}", "My name is {}."),
    "de": (
        rf"(?:[Ii]ch bin (?P<article>der |die )?|[Hh]ier (?:ist|spricht) ){_NAME}",
        "Ich heiße {}.",
    ),
    "es": (rf"(?:[Ss]oy|[Yy]o soy|[Aa]quí) {_NAME}", "Me llamo {}."),
    "fr": (rf"(?:[Mm]oi,? c'est|[Jj]e suis|[Ii]ci) {_NAME}", "Je m'appelle {}."),
}
_PATTERNS = {tongue: (re.compile(text), fact) for tongue, (text, fact) in _INTRODUCTIONS.items()}
_TO_THE_LIKE_OF = any_case(r"(?:ich bin|je suis|soy|yo soy)\b")
"""Openings that may precede any statement about oneself, not only a name."""

_NO_NAMES = (
    word_set("""
    aries taurus gemini cancer virgo libra scorpio scorpion sagittarius capricorn aquarius pisces
    widder stier zwilling krebs lowe jungfrau waage skorpion schutze steinbock wassermann fische
    tauro geminis escorpio sagitario capricornio acuario piscis belier taureau gemeaux vierge
    balance sagittaire capricorne verseau poissons

    tired hungry thirsty sad happy angry sick ill fine good great okay ok well back here ready done
    late busy new lost sorry home alone single married retired pregnant vegan vegetarian pescatarian
    celiac diabetic brilliant awesome perfect wonderful fantastic amazing lovely nice cool super
    terrible awful horrible ridiculous crazy insane weird strange funny hilarious urgent important
    serious sure glad lonely cold hot bad free broke poor old young tall short deaf blind
    gay straight trans queer bi lesbian right wrong it this that everything nothing nobody everyone
    somebody today tomorrow yesterday monday human gold trouble madness nonsense insomniac introvert
    extrovert atheist agnostic republican democrat liberal conservative stuck afraid broken unwell
    awake asleep sleepy dizzy upset mad furious curious anxious nervous grumpy moody cranky dead
    alive safe out in off on up down over left gone student mum mom dad mother father grandma
    grandpa boss owner manager ceo cto cfo director founder president client customer patient user
    tenant landlord neighbour neighbor nobody admin moderator doctor captain intern apprentice

    mude hungrig durstig traurig glucklich froh krank neu fertig da hier wieder allein ledig
    verheiratet geschieden schwanger vegetarier veganer christ moslem atheist rentner student
    schuler azubi chef chefin vater mutter papa mama oma opa mieter vermieter kunde kundin nachbar
    nachbarin patient beamter beamtin angestellter kaufmann kauffrau hausfrau hausmann arztin
    tischler maler wirt witwe witwer single zwolf nervos gestresst sauer bereit spat dran
    deutsche deutscher franzose franzosin turke turkin russe russin pole polin dane danin schwede
    schwedin finne grieche griechin spanier englander ire schotte belgier brite britin chinese
    chinesin tscheche ungar bulgare rumane kroate serbe portugiese schweizer osterreicher berliner
    hamburger munchner kolner wiener bayer sachse schwabe franke hesse friese

    cansado cansada triste feliz contento contenta enfermo enferma listo lista nuevo nueva soltero
    soltera casado casada divorciado divorciada viudo viuda jubilado jubilada vegano vegana
    vegetariano vegetariana celiaco celiaca diabetico diabetica catolico catolica judio judia
    estudiante jefe jefa dueno duena padre madre papa abuelo abuela cliente vecino vecina
    peruano peruana mexicano mexicana colombiano colombiana cubano cubana italiano italiana
    venezolano venezolana boliviano boliviana americano americana argentino argentina chileno
    chilena uruguayo uruguaya paraguayo paraguaya ecuatoriano ecuatoriana brasileno brasilena
    espanol espanola francesa ingles inglesa aleman alemana portugues portuguesa andaluz
    andaluza vasca catalan catalana gallego gallega canario canaria madrileno madrilena
    sevillano sevillana valenciano valenciana asturiano asturiana aragones aragonesa europeo europea
    africano africana latino latina ruso rusa chino china marroqui

    fatigue fatiguee content contente heureux heureuse malade pret prete nouveau nouvelle seul
    seule celibataire mariee divorce divorcee veuf veuve retraite retraitee vegetalien
    vegetarienne vegetarien diabetique catholique musulman musulmane juif juive etudiant etudiante
    chef patron patronne pere mere client cliente voisin voisine breton bretonne francais
    francaise belge suisse normand normande corse alsacien alsacienne basque auvergnat
    auvergnate savoyard savoyarde picard provencal provencale parisien parisienne lyonnais
    lyonnaise lillois lilloise nicois nicoise marseillais marseillaise toulousain toulousaine
    nantais nantaise quebecois quebecoise canadien canadienne belges africain africaine americain
    americaine allemand allemande anglais anglaise espagnol espagnole italien italienne portugais
    portugaise russe chinois chinoise algerien algerienne marocain marocaine tunisien tunisienne
    senegalais senegalaise maire notaire libraire desole desolee

    american british english irish scottish welsh canadian australian mexican brazilian chilean
    peruvian colombian cuban italian german french spanish portuguese dutch belgian swiss austrian
    polish czech hungarian romanian bulgarian russian ukrainian greek turkish israeli arab iranian
    iraqi egyptian moroccan nigerian kenyan ghanaian ethiopian indian pakistani bangladeshi nepali
    chinese japanese korean vietnamese thai filipino filipina indonesian malaysian singaporean
    swedish norwegian danish finnish icelandic estonian latvian lithuanian serbian croatian bosnian
    european african asian latino latina hispanic jewish muslim christian catholic protestant
    buddhist hindu sikh mormon texan californian londoner parisian kiwi scot brit swede finn
    pole turk spaniard
    """)
    | PROFESSIONS
    | LANGUAGES
    | WEEKDAYS
) - word_set("taylor")
"""Words that follow "I am" without being a name: work, origins, star signs, moods."""
_ENDS = {
    "en": r"\w+(?:ed|ing|ful|ous|less|able|ible|ical|ish|ese|ican|alian|ologist|ist)",
    "de": r"\w+(?:er|erin|in|ling|mann|frau|eur|eurin|ist|ologe|ent|ant|or|arzt|wirt|isch|ig|ter"
    r"|ste|t|lich|los|voll)",
    "es": r"\w+(?:er[oa]|ista|olog[oa]|dora?|tora?|en[oa]|ense|ante|ente|ado|ada|ido|ida)",
    "fr": r"\w+(?:eure?|euse|iste|ienn?e?|oise?|aise?|aire|logue|ante?|ente?|ique|ier|iere|ee"
    r"|trice)",
}
_ENDINGS = {tongue: re.compile(text) for tongue, text in _ENDS.items()}
_ARE_NAMES = word_set("""
    ahmed mohamed mohammed muhammed fred alfred winifred wilfred jared khaled waleed saeed syed
    hamed javed ned ted ed reed majed manfred siegfried gottfried rasheed naveed
    sterling irving ming ling jing ping ding qing ying king harding
    ashish harish manish girish satish jagdish dinesh therese denese
    peter walter oliver rainer werner gunter gunther dieter alexander xaver holger rudiger volker
    elmar meinhard jennifer esther christopher ester hester amber heather summer piper rover
    karin martin kathrin kevin robin katrin merlin benjamin valentin quentin justin marvin erwin
    edwin darwin kristin yasmin jasmin colin erin austin calvin gavin kelvin alvin
    melvin corvin severin konstantin augustin celestin florin marin delphin aladin dustin
    hermann herrmann viktor victor igor hector theodor gregor isidor vincent laurent clement
    florent kent trent brent rembrandt hellmut helmut kurt bert robert albert norbert hubert
    herbert gilbert lambert egbert dagobert ruprecht albrecht knut margit birgit britt brigitt
    august ernst horst margret margarete gerrit horant ludwig hedwig henning irmgard annegret
    erst celeste augusta auguste baptiste christiane jost lennart gerhart eckart
    homero vera severo bautista salvador teodora isidora teodoro clemente vicente lorena elena
    magdalena malena ximena jimena milena helena serena filomena azucena macarena almudena
    milagros remedios candido candida amado amada placido placida librada dorado conrado
    rosendo lazaro alejandro isadora flora aurora nora leonora eleonora eva pandora
    sebastien fabien julien damien bastien lucien adrien aurelien emilien flavien vivien francois
    francoise eloise heloise louise denise elise anais blaise ambroise claire hilaire
    dorothee renee desiree aimee zoee andree salome angelique dominique monique veronique
    frederique olivier gauthier didier xavier gautier ferrier javier olivier beatrice
    patrice maurice carmel constant constante violante dante constance eglantine fleur eleonore
    lucienne adrienne fabienne vivienne julienne emilienne frida aida brigida nelida
    baptiste evariste calliste auguste honore modeste ernesto calixto evaristo
    """)

_NAMES = frozenset({"Germán", "Frances", "Domingo"})
"""Names with a spelling that folds to another word."""

_ASKED_OF_THE_USER = any_case(
    r"\b(?:you|your|du|dein\w*|sie|ihr\w*|tú|tu|eres|usted|tus|vous|votre|es-tu|tes|ton|ta)\b"
)
_LEADS = {
    "en": r"(?:(?:actually|well|oh|in fact|to be honest|by the way|btw|update|so|and|but|no"
    r"|it turns out|turns out|sadly|unfortunately),? )",
    "de": r"(?:(?:eigentlich|tatsächlich|übrigens|ach|also|leider|inzwischen|mittlerweile|aber|und"
    r"|nein|ehrlich gesagt|bin),? )",
    "es": r"(?:(?:en realidad|la verdad|de hecho|por cierto|bueno|pues|lamentablemente|y|pero"
    r"|no),? )",
    "fr": r"(?:(?:en fait|en réalité|finalement|à vrai dire|au fait|d'ailleurs|malheureusement|bon"
    r"|et|mais|non),? )",
}
_SAID = {
    "en": r"(?P<said>(?P<denied>not|no longer|never)(?: (?:really|strictly|even|quite|a|an))*"
    r" (?:vegan|vegetarian|pescatarian|single|married|pregnant|diabetic|smoker|religious)"
    r"(?P<tail>(?: (?:these days|any ?more|any longer|now|at the moment|currently|right now"
    r"|lately))*))",
    "de": r"(?P<said>(?:(?:jetzt|zurzeit|derzeit|momentan|gerade|doch) )*"
    r"(?P<denied>nicht|keine?)(?P<tail>(?: mehr)?)"
    r" (?:ganz |so |wirklich )?(?:vegan|vegetarisch|veganer(?:in)?|vegetarier(?:in)?|single|ledig"
    r"|verheiratet|schwanger|raucher(?:in)?|religiös)(?: mehr)?)",
    "es": r"(?P<denied>ya no|no)(?: soy)? (?P<said>(?:vegan|vegetarian|solter|religios|fumador"
    r"|diabétic)[oa]?)(?P<tail>(?:,? (?:estos días|últimamente|ahora|por ahora|actualmente))*)",
    "fr": r"(?P<denied>plus|pas) (?P<said>(?:vraiment |du tout )?(?:végane?|vegan|végétarien(?:ne)?"
    r"|célibataire|marié(?:e)?|enceinte|fumeu(?:r|se)|diabétique))"
    r"(?P<tail>(?: (?:ces temps-ci|ces jours-ci|maintenant|en ce moment|actuellement))*)"
    r"(?:,? en fait)?",
}
_ELLIPSES = {
    tongue: any_case(rf"^(?P<lead>{lead}*){_SAID[tongue]}[\s.!]*$")
    for tongue, lead in _LEADS.items()
}
_CHANGED = any_case(r"^(?:no longer|ya no|plus)$")


def introduced(text: str, tongue: str, *, begins: bool, greeted: bool) -> tuple[str, str]:
    """Return the name with which a sentence introduces its speaker, as a sentence, and the rest.

    Both are empty without an introduction. `begins`: no text precedes the sentence. `greeted`: a
    greeting precedes it.
    """
    pattern, fact = _PATTERNS.get(tongue, (None, ""))
    text = text.strip()
    match = pattern.match(straight(text)) if pattern else None
    if match is None or is_no_name(match["name"], tongue):
        return "", ""
    if _TO_THE_LIKE_OF.match(text) and not match.groupdict().get("article"):
        certain = greeted
    else:
        certain = begins or greeted or tongue in {"es", "fr"}
    return (fact.format(match["name"]), text[match.end() :]) if certain else ("", "")


def is_no_name(said: str, tongue: str) -> bool:
    """Return True if a capitalised word is not a name, by the list or by its ending.

    A missed name costs little; "My name is Tired." is nonsense.
    """
    folded = [fold(word) for word in said.split() if word not in _NAMES]
    if any(word in _NO_NAMES for word in folded):
        return True
    return any(_ENDINGS[tongue].fullmatch(word) and word not in _ARE_NAMES for word in folded[:1])


def in_full(text: str, question: str, tongue: str) -> str:
    """Return the sentence with its omitted "I am", or unchanged.

    It stays unchanged after a question about another person. It also stays unchanged if it might
    describe another thing: "Not vegetarian." alone may describe a dish.
    """
    pattern = _ELLIPSES.get(tongue)
    match = pattern.match(straight(text).strip()) if pattern else None
    if match is None or (QUESTION.search(question) and not _ASKED_OF_THE_USER.search(question)):
        return text
    if not (match["lead"] or match["tail"] or _CHANGED.match(match["denied"])):
        return text
    completed = {
        "en": f"I'm {match['said'].lower()}",
        "de": f"Ich bin {match['said'][0].lower()}{match['said'][1:]}",
        "es": f"{match['denied'].capitalize()} soy {match['said']}{match['tail']}",
        "fr": f"Je ne suis {match['denied'].lower()} {match['said']}{match['tail']}",
    }
    return f"{completed[tongue]}."
