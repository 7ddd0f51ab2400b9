"""Statements in one sentence about its speaker, introductions included."""

import re
from collections.abc import Iterator
from dataclasses import replace

from app.kernel.text import fold
from app.language.corrections import moves_a_date
from app.language.lexicon import latin, word_set
from app.language.phrases import QUESTION, Phrases, any_case
from app.language.profile_readings import LANGUAGES, PROFESSIONS, WEEKDAYS
from app.language.requests import ALSO, MY, RequestedFact, asked_besides, requested
from app.language.scoring import WORTH_KEEPING, score
from app.language.text import content, straight
from app.language.tongues import GREETING_ELSEWHERE, PHRASES, is_in, reads
from app.language.unmeant import is_unmeant, not_told_to_the_memory, without_reports

_REPORTS = re.compile(r" {9,}")
"""Blanks in place of a report; no report is shorter."""
_BULLET = re.compile(r"^(?:[-*\u2022\u00b7>+]+|\(?\d{1,2}[.)])\s+")
_STANDS_FOR = {
    "en": r"(?:he|she|it|they|his|her|its|their)(?:'s|'re)? (?!was (?:so|really|very|great|fun)|is"
    r" so)",
    "de": r"(?:er|sie|es|sein\w*|ihr\w*) ",
    "es": r"(?:él|ella|ellos|ellas|su|sus|se llama) ",
    "fr": r"(?:il|elle|ils|elles|son|sa|ses|leur) ",
}
_FOLLOWS = {tongue: any_case(text) for tongue, text in _STANDS_FOR.items()}
_IS = r"(?:is|are|was|were|has|have|had|will|can|likes?|lives?|works?|starts?|turns?|\w{3,}ed)"
_JOINS = {
    "en": (
        rf"(?:,? (?:and|but|so|plus)|,|;) (?=I(?:'\w+)? |(?-i:[A-Z])[a-z]+ {_IS}\b|my"
        rf" (?:[\w'-]+ ){{1,3}}{_IS}\b)"
    ),
    "de": r",? (?:und|aber|denn) (?=ich |mein\w* (?:[\w-]+ ){1,2}(?:ist|sind|heißt|hat|war|mag)\b)",
    "es": r",? (?:y|pero|además) (?=(?:yo|me|no me|vivo|trabajo|tengo|soy|prefiero|odio|no como)\b"
    r"|mi (?:[\w-]+ ){1,2}(?:es|son|se|tiene|está|vive)\b)",
    "fr": (
        r",? (?:et|mais|donc) (?=je |j'|(?:mon|ma|mes) (?:[\w-]+ ){1,2}(?:est|sont|s'|a|aime"
        r"|vit)\b)"
    ),
}
_JOINED = {tongue: any_case(text) for tongue, text in _JOINS.items()}
_ADDRESSED = any_case(
    r"\b(?:ignore|disregard|bypass|override|overrule)\b.{0,40}\b(?:instructions?|rules?|prompts?"
    r"|guidelines?|policy|policies|safety)\b|\b(?:system|developer) (?:prompt|message|override"
    r"|mode)\b"
    r"|\b(?:ignorier\w*|vergiss)\b.{0,40}\b(?:anweisung\w*|regeln)\b"
    r"|\bignora\w*\b.{0,40}\b(?:instrucciones"
    r"|reglas)\b|\bignore[sz]?\b.{0,40}\b(?:instructions|règles|consignes)\b"
)
_VAGUE = any_case(
    r"^(?!he \w+(?:ado|ido|cho|sto|rto)\b)(?:it|that|this|these|those|there|which|he|she|they|his"
    r"|her|their|mine|hers|theirs|das(?! (?-i:[A-ZÄÖÜ]))"
    r"|dies\w*|es|er|sie|sein\w*|ihr\w*|dort|dessen|deren|eso|esto|él|ella|ellos|ellas|el mío"
    r"|la mía|ça|cela|c'est|ce|il|elle|ils|elles|le mien|la mienne)\b(?!-)"
)
_ASIDE = any_case(
    r",? (?:by the way|btw|though|you know|übrigens|weißt du|por cierto|au fait"
    r"|d'ailleurs)[\s.!]*$"
)
"""Additions without content at the end of a sentence."""
_LONGEST_ADDED = 200
"""Maximum characters of a sentence that may be added to the previous fact."""
_LONGEST_NAME = 20
"""Maximum characters of the name after a greeting."""
_GREETING = any_case(
    r"^\W*(?:hi|hello|hey|good \w+|hallo|moin|servus|grüß \w+|guten \w+|hola|buenas|buen[oa]s \w+"
    r"|bonjour|bonsoir|salut|coucou)\b"
)
_EARLY = 5
"""Maximum words before "I" in a person's own statement ("Last year in May I moved")."""
_CALL_ME = any_case(
    r"^(?:can|could|would|will) you (?:please )?(?P<call>(?:call|address) me [^?]+)\?*$"
)


def statements(
    text: str, tongue: str, *, begins: bool = False, greeted: bool = False
) -> Iterator[RequestedFact]:
    """Yield the statements of a sentence; none for talk, questions and commands.

    `begins`: only a greeting may precede it, as before a name. `greeted`: a greeting precedes it.
    """
    plain = _BULLET.sub("", text.strip())
    phrases = PHRASES.get(tongue)
    if phrases is None or not reads(plain, tongue):
        return
    opened = _without_opening(plain, phrases)
    is_addressed = _ADDRESSED.search(plain) is not None
    asked = requested(plain, phrases, tongue)
    if asked is None and not is_addressed:
        asked = requested(opened, phrases, tongue)
    name, rest = introduced(
        opened,
        tongue,
        begins=begins or opened != plain,
        greeted=greeted or (begins and _GREETING.match(plain) is not None),
    )
    if asked is not None:
        yield from _forgotten_or_finished(asked)
    elif name:
        yield RequestedFact(name)
        if rest and not is_addressed and not is_unmeant(rest, tongue):
            yield from _statements_in(rest, phrases, tongue)
    elif not is_addressed and not is_unmeant(opened, tongue) and not is_unmeant(plain, tongue):
        yield from _statements_in(_CALL_ME.sub(r"\g<call>", opened), phrases, tongue)


def _statements_in(text: str, phrases: Phrases, tongue: str) -> Iterator[RequestedFact]:
    left, asked = asked_besides(text, phrases, tongue)
    parts = [left] if asked is not None else not_told_to_the_memory(left)
    for part in parts:
        for piece in _own_pieces(_before_question(part, phrases)):
            yield from _own_statements(piece, phrases, tongue)
    if asked is not None:
        yield from _forgotten_or_finished(asked)


def _own_statements(text: str, phrases: Phrases, tongue: str) -> Iterator[RequestedFact]:
    own = False
    for part in _clauses(text, tongue):
        if not is_in(text, tongue) and not phrases.first.search(straight(part)):
            continue
        own = _is_own(part, phrases) or (own and _is_added(part, phrases))
        if own:
            yield RequestedFact(
                finished(part), explicit=bool(phrases.always.search(straight(part)))
            )


def _own_pieces(text: str) -> list[str]:
    """Return the parts of a sentence outside other people's statements about the person."""
    left = without_reports(text, with_told=False)
    if left == text:
        return [text]
    return [piece.strip(" ,;") for piece in _REPORTS.split(left) if piece.strip(" ,;.!")]


def is_greeting(text: str) -> bool:
    """Return True if a sentence is a greeting and little more."""
    match = _GREETING.match(text)
    return match is not None and len(text) - match.end() <= _LONGEST_NAME


def is_addressed(text: str) -> bool:
    """Return True if a text gives the service orders about its rules."""
    return bool(_ADDRESSED.search(straight(text)))


def is_talk(text: str, tongue: str) -> bool:
    """Return True for a question, a greeting or an order to the service: it is never a fact."""
    plain = straight(text).strip()
    if QUESTION.search(plain) or _ADDRESSED.search(plain):
        return True
    phrases = PHRASES.get(tongue)
    return bool((phrases.talk if phrases is not None else GREETING_ELSEWHERE).match(plain))


def _forgotten_or_finished(asked: RequestedFact) -> Iterator[RequestedFact]:
    if asked.forget:
        several = ALSO.split(asked.text) if MY.match(asked.text) else [asked.text]
        yield from (replace(asked, text=part) for part in several if part)
    elif content(asked.text) and not _ADDRESSED.search(asked.text):
        yield RequestedFact(finished(asked.text), explicit=True)


def follows_on(text: str, tongue: str) -> bool:
    """Return True if the sentence refers to a thing named before it ("His name is Rex.")."""
    pattern, phrases = _FOLLOWS.get(tongue), PHRASES.get(tongue)
    if pattern is None or phrases is None or len(text) > _LONGEST_ADDED:
        return False
    if not pattern.match(straight(text)) or QUESTION.search(text):
        return False
    if phrases.talk.search(straight(text)):
        return False
    return not phrases.first.search(straight(text)) and score(text) >= 0.75


def _without_opening(text: str, phrases: Phrases) -> str:
    opening = phrases.opening.match(straight(text))
    rest = text[opening.end() :] if opening else text
    return _TURNED_OUT.sub("", rest)


_TURNED_OUT = any_case(
    r"^(?:(?:it )?turn(?:s|ed) out(?: that)?|resulta que|resultó que|il s'avère que)[,:]?\s+"
)


def _before_question(text: str, phrases: Phrases) -> str:
    """Return the statement that precedes a question ("I eat no nuts, what can I order?")."""
    plain = straight(text)
    if not QUESTION.search(plain):
        return text
    cuts = [
        match.start()
        for match in re.finditer(r"\s*[,;:-]\s+(?:and |so |but |und |also |y |et |donc )?", plain)
        if phrases.asking.match(plain[match.end() :])
    ]
    return text[: cuts[0]] if cuts else text


def _clauses(text: str, tongue: str) -> list[str]:
    """Split before a new clause with its own "I" or "my": each can then change separately."""
    pattern = _JOINED.get(tongue)
    if pattern is None:
        return [text]
    parts, begin = [], 0
    for match in pattern.finditer(straight(text)):
        left, right = text[begin : match.start()], text[match.end() :]
        leans = _OTHERS[tongue].search(straight(right))
        if _stands_alone(left, PHRASES[tongue]) and len(right.split()) >= 3 and not leans:
            parts.append(left)
            begin = match.end()
    return [*parts, text[begin:]]


_OTHERS = {
    tongue: any_case(rf"\b(?:{words})\b")
    for tongue, words in (
        ("en", "he|she|him|her|they|them|it|there"),
        ("de", "er|ihn|ihm|sie|ihr|dort"),
        ("es", "él|ella|ellos|ellas|le|les|allí"),
        ("fr", "il|elle|ils|elles|lui|leur|y"),
    )
}
"""Words that make a clause depend on the previous one."""


def _stands_alone(left: str, phrases: Phrases) -> bool:
    """Return True if the first part is a clause, unlike "my older sister" in "... and I went"."""
    plain = straight(left)
    return bool(phrases.first.search(plain)) and len(plain.split()) >= (4 if MY.match(plain) else 2)


def _is_own(text: str, phrases: Phrases) -> bool:
    """Return True for a statement worth keeping, not talk, a question or a command."""
    plain = straight(text).strip()
    if QUESTION.search(plain) or phrases.asking.match(plain) or phrases.talk.match(plain):
        return False
    if phrases.always.search(plain):
        return len(content(plain)) >= 1
    if phrases.request.match(plain):
        return False
    return _is_told(plain, phrases)


def _is_told(plain: str, phrases: Phrases) -> bool:
    first = phrases.first.search(plain)
    if first is None:
        return _is_reported(plain, phrases)
    if len(plain[: first.start()].split()) <= _EARLY and not _VAGUE.match(plain):
        return len(content(plain)) >= _least(plain, phrases)
    return score(plain) >= WORTH_KEEPING and not _VAGUE.match(plain)


def _is_added(text: str, phrases: Phrases) -> bool:
    """Return True if a clause about others, joined to one's own, is meaningful alone."""
    plain = straight(text)
    if QUESTION.search(plain) or phrases.talk.match(plain) or _VAGUE.match(plain):
        return False
    return bool(phrases.personal.search(plain) or phrases.preference.search(plain))


def _least(text: str, phrases: Phrases) -> int:
    is_personal = phrases.preference.search(text) or phrases.personal.search(text)
    return 1 if is_personal or _HAS.match(text) or _CAN.match(text) else 2


_CAN = any_case(
    r"(?:ich kann|(?:ya |no )*sé|je (?:ne )?sais)"
    r"(?: (?:nicht|jetzt|wieder|leider|auch|schon|gut|pas|plus))* [^\W\d]{3,}"
    r"(?: (?:maintenant|ahora))?[\s.!]*$"
)
"""Abilities, which are worth keeping even in a single word."""


_HAS = any_case(
    r"(?:(?:(?:I|we)(?: (?:do(?:n't| not)|no longer|never))? (?:have|own)|(?:ich|wir) habe?n?"
    r"|(?:ya )?"
    r"(?:no )?ten(?:go|emos)|j'ai|je n'ai|nous (?:n')?avons)\b)"
    # Not as an auxiliary verb: "I have moved", "ich habe geheiratet", "j'ai fini".
    r"(?!(?: not| never| just| already| pas)? (?:\w+ed|been|gone|done|had|got|made|seen|lost|left"
    r"|found|met|slept|eaten|\w+(?:é|i|u)e?s?)\b)(?!.*\b(?:ge\w+(?:t|en)|\w+iert)[\s.!]*$)"
    r"(?!.*\b(?:idea|clue|time|plans?|fun"
    r"|questions?|doubts?|problems?|zeit|ahnung|lust|fragen?|tiempo|ganas|preguntas?|dudas?|temps"
    r"|idée|envie)\b)"
)
"""Possessions or their lack, which are worth keeping even in a single word."""


def _is_reported(text: str, phrases: Phrases) -> bool:
    """Return True if a statement without "I" is precise about other people or things."""
    if phrases.second.search(text) or _VAGUE.match(text) or len(text.split()) < 4:
        return False
    return moves_a_date(text) or score(text) >= WORTH_KEEPING + 1.0


def finished(text: str) -> str:
    """Return the clause as a full sentence, with a capital letter and a full stop."""
    text = _ASIDE.sub("", text.strip()).strip().rstrip(" .!,;:\u2026-").strip()
    if not text or not latin(text):
        return text
    return (
        text[0].upper() + text[1:] + ("" if text.endswith(("?", ")")) and "(" not in text else ".")
    )


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

    Both are empty without an introduction; the rest is as for `statements`.
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
    """Return the sentence with its omitted "I am", or unchanged if it may be about another.

    "Not vegetarian." alone may describe a dish.
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
