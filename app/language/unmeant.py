"""Sentences that state nothing of the speaker's real life, reported speech, and secrets.

Users mostly believe the reported words of a doctor or a letter: such reports are kept as they are,
but fill no field alone.

Each language has few words: a false alarm costs a memory, and a miss stores nonsense.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from app.language.phrases import any_case
from app.language.sentences import sentences
from app.language.text import straight
from app.language.tongues import PHRASES

_HINT = any_case(
    r"\b(?:sa(?:id|ys?|ying)|th(?:inks?|ought)|claim|believ|insist|assum|suspect|reckon|pretend"
    r"|guess|t(?:old|ell)|writes?|wrote|according|sag|gesagt|mein|denk|dacht|glaub|behaupt|vermute"
    r"|erzähl|schr[ie]|laut\b|di[jc]|cre[eí]|piensa|pensaba|afirm|asegur|opina|cuenta|contó|según"
    r"|dit\b|disent|disai|prétend|affirm|croi|pens|raconte|selon|d'après)"
)
_SAYING = {
    "en": "said|says|saying|say|thinks|thought|think|claims|claimed|claim|believes|believed|believe"
    "|insists|insisted|assumes|assumed|suspects|suspected|reckons|reckoned|pretends|pretended"
    "|guesses|guessed",
    "de": "sagt|sagte|sagten|sagen|gesagt|meint|meinte|meinten|gemeint|denkt|dachte|glaubt|glaubte"
    "|behauptet|behauptete|behaupten|vermutet|vermutete",
    "es": "dijo|dice|dicen|dijeron|decía|dicho|cree|creen|creía|piensa|piensan|pensaba|afirma"
    "|afirman|afirmó|asegura|aseguró|opina|opinan",
    "fr": "dit|disent|disait|pense|pensent|pensait|croit|croient|croyait|prétend|prétendait"
    "|affirme|affirmait",
}
_TELLING = {
    "en": "told|tells|wrote|writes",
    "de": "erzählt|erzählte|schrieb|schreibt|geschrieben",
    "es": "cuenta|contó|escribió",
    "fr": "raconte|raconté|écrit",
}
_TO = r"(?:,? (?:to )?(?:me|us|you|him|her|them|everyone|mir|uns|dir|allen|a todos|à tous))?"
_THAT = r"\s*[,:]?\s*[\"“„«']?\s*(?:(?:that|dass|daß|que)\s+|qu')?"
_SAYS = {
    tongue: any_case(rf"\b(?:(?P<says>{says})|(?P<tells>{_TELLING[tongue]}))\b{_TO}{_THAT}")
    for tongue, says in _SAYING.items()
}
_SELF = any_case(r"\b(?:I|I'(?:ve|d|m)|we|ich|wir|habe|yo|he|nosotr[oa]s|je|nous|ai)\b|\bj'")
"""First-person reporters; the language distinguishes English "he" from Spanish "he"."""
_HE = any_case(r"\bhe\b")
_TOLD = any_case(
    r"\b(?:me|mir|nos|uns|doctor|dr|physician|dentist|nurse|therapist|psychiatrist|psychologist"
    r"|specialist|surgeon"
    r"|cardiologist|dermatologist|optician|vet|lawyer|letter|report|results?|tests?|ärzt\w*|\w*arzt"
    r"|therapeut\w*|brief|befund|ergebnis\w*|médic[oa]|doctora|dentista|psicólog[oa]|abogad[oa]"
    r"|carta|informe|resultados?|médecin|docteur|dentiste|psychologue|avocate?|lettre"
    r"|résultats?)\b|\bm'"
)
_CLAUSE = any_case(r"[,;:.!?]\s+|\s(?:and|but|because|und|aber|weil|y|pero|porque|et|mais)\s")
_STOP = re.compile(r"[,;:.!?]")
_CONTRAST = any_case(r"(?:,\s*|\s)(?:but|although|however|aber|doch|sondern|pero|sino|mais|or)\s|;")
_REPORTED_ORDER = any_case(
    r"(?:du (?:sollst|solltest|kannst|musst)\b.*\b(?:vergessen|löschen)\b)"
    r"|(?:to |you (?:should|can|must) |please |bitte |du sollst )*(?:forget|delete|remove|erase"
    r"|vergiss|lösch"
    r"|olvid|borr|elimin|oubli|effac|supprim)"
)
_ACCORDING = any_case(
    r"(?:^|[,;]\s*|\b(?:and|und|y|et)\s+)(?:according to|laut|según|selon|d'après)"
    r" (?!(?:me|mir|mí|moi)\b)"
    r"(?P<who>(?:(?:my|the|mein\w*|de[rm]|mi|el|la|mon|ma|le)\s+)?[\w'.-]+)"
)
_AFTERWARDS = any_case(
    r",[\"”»']?\s+(?:so )?(?:"
    r"(?:said|says|claims|thinks|sagt|sagte|meint|meinte|behauptet|glaubt|dice|dijo|cree|dit"
    r"|disait|pense|prétend) (?!(?:I|we|ich|wir|yo|je)\b)(?P<after>[\w' .-]{1,30})"
    r"|(?!(?:I|we|as|like|yo|je|ich|wir)\b)(?P<before>(?:[\w'-]+ ){1,3})(?:said|says|claims|claimed"
    r"|thinks|insists|believes|sagt|sagte|meint|meinte|behauptet|dice|dijo|cree|dit|pense"
    r"|prétend))[.!\s]*$"
)
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]*(?:[\"“”»]|$)")
_LONGEST_NAME = 2
"""Maximum words of a quotation that may be a name; longer quotations are other people's words."""
_ARTICLE = any_case(r"(?:my|the|mein\w*|de[rm]|mi|el|la|mon|ma|le)\s")
_LONGEST_SENTENCE = 2_000
"""Maximum characters of a sentence; a longer one is pasted text, not a statement."""
_LONGEST_START = 1
"""Maximum words before "I" in a reported statement ("Tom said yesterday I ...")."""
_LONGEST_START_CHARS = 200
"""Maximum characters before that "I"."""


@dataclass(frozen=True)
class _Report:
    begin: int
    end: int
    is_told: bool


def without_speech(text: str) -> str:
    """Return the text without quotations; one or two quoted words may be a name."""
    return _QUOTED.sub(_name, text)


def _name(quoted: re.Match[str]) -> str:
    return quoted[0] if len(quoted[0].split()) <= _LONGEST_NAME else " "


def without_reports(text: str, *, with_told: bool = True) -> str:
    """Return the text, at the same length, with other people's claims about the user blanked out.

    With `with_told`, also blank out statements made to the user, or by experts such as doctors.
    """
    plain = straight(text)
    if not _HINT.search(plain):
        return text
    for sentence in sentences(plain):
        for report in _reports(sentence.text):
            if with_told or not report.is_told:
                begin, end = report.begin + sentence.start, report.end + sentence.start
                text = text[:begin] + " " * (end - begin) + text[end:]
    return text


def _reports(sentence: str) -> list[_Report]:
    if len(sentence) > _LONGEST_SENTENCE or not _HINT.search(sentence):
        return []
    return [*_claims(sentence), *_attributions(sentence)]


def _claims(text: str) -> Iterator[_Report]:
    clauses = list(_CLAUSE.finditer(text))
    ends = [clause.end() for clause in clauses]
    for tongue, pattern in _SAYS.items():
        for match in pattern.finditer(text):
            # The clause that contains this verb.
            before = bisect_right(ends, match.start())
            begin = clauses[before - 1].start() if before else 0
            who = text[ends[before - 1] if before else 0 : match.start()]
            itself = _HE.sub("", who) if tongue == "en" else who
            if not _SELF.search(itself) and _is_of_user(text[match.end() :], tongue):
                is_told = match["tells"] is not None or _TOLD.search(who) is not None
                yield _Report(begin, _end(text, match.end()), is_told)


def _is_of_user(reported: str, tongue: str) -> bool:
    if _REPORTED_ORDER.match(reported):
        return True
    first = PHRASES[tongue].first.search(reported, 0, _LONGEST_START_CHARS)
    before = reported[: first.start()] if first else ""
    is_near = len(before.split()) <= _LONGEST_START and not _STOP.search(before)
    return first is not None and is_near


def _attributions(text: str) -> Iterator[_Report]:
    for named in _ACCORDING.finditer(text):
        is_told = _ARTICLE.match(named["who"]) is not None
        yield _Report(named.start(), _end(text, named.end()), is_told)
    said = _AFTERWARDS.search(text)
    if said is not None:
        who = said["after"] or said["before"]
        yield _Report(0, len(text), _TOLD.search(who) is not None)


def _end(text: str, begin: int) -> int:
    contrast = _CONTRAST.search(text, begin)
    return contrast.end() if contrast else len(text)


_SUPPOSED = {
    "en": r"\bif (?:only )?(?:I|we|it|there|my \w+) (?:were|was|had|could|ever|won)\b|\bI wish\b"
    r"|(?:^|[,;:] )imagine\b|\bsuppose (?:I|we)\b|\bhypothetical\w*|\bmight\b"
    r"|\b(?-i:may) (?:\w+ )?(?:be|have"
    r"|try|go|do|get|take|move|buy|need|rain|start|not)\b|\b(?:maybe|perhaps|probably|presumably)\b"
    r"|\b(?:would|I'd|we'd|could) (?:(?:never|ever|even|probably) )?(?!like|rather|prefer|love"
    r"|better|be (?:happy|glad)|you\b)\w+\b|\b(?:I|we) (?:do(?:n't| not) )?(?:guess|think|suppose"
    r"|bet|reckon|assume"
    r"|doubt)\b|^if\b.*\b(?:I|we)(?:'ll| will)\b|\bnot sure (?:if|whether)\b"
    r"|\bI(?:'m| am) guessing\b",
    "de": r"\b(?:wenn|falls) (?:ich|wir|es)\b.*\b(?:wäre|hätte|könnte|würde|dürfte)n?\b"
    r"|\b(?:wäre|hätte|könnte|würde) (?:ich|wir)\b(?!.*\b(?:gern|gerne|lieber|bitte)\b)"
    r"|\bich (?:wäre|hätte|könnte|würde)\b(?!.*\b(?:gern|gerne|lieber|bitte)\b)|\bich wünschte\b"
    r"|\bstell dir vor\b|\bangenommen\b|\b(?:vielleicht|wahrscheinlich|vermutlich)\b"
    r"|\bich (?:denke?|vermute|schätze?|nehme an)\b|\bich glaube?(?! an\b)|\bnicht sicher,? ob\b",
    "es": r"\bsi (?:yo )?(?:\w+(?:[aie]ra|[aie]se)(?:mos)?)\b|\bojalá\b|\bimagin[ae]\b"
    r"|\b(?:quiz[aá]s?|tal vez|a lo mejor|probablemente|seguramente)\b"
    r"|\b(?!(?-i:[A-Z])|prefer|gusta|quer)\w+(?:[ai]ría|dría)(?:mos)?\b"
    r"|\b(?:s|v|le|com|beb|deb|corr|vend|aprend|volv|mov|perd|entend|met|cog|cre|(?:cono|pare"
    r"|ofre|na|cre|pertene|agrade)c)ería(?:mos)?\b"
    r"|\b(?:creo|pienso|supongo|imagino) que\b|\bme parece que\b|\bno sé si\b",
    "fr": r"\bsi (?:j'|je |nous |on )\w+(?:ais|ait|ions)\b|\bpeut-être\b|\bimagine[sz]?\b"
    r"|\bprobablement\b|\bsans doute\b|\bje (?:crois|pense|suppose|imagine) qu\b"
    r"|\bje (?:crois|pense|suppose|imagine) qu[e']|\bil me semble\b|\bj'aurais\b|\bje serais\b"
    r"|\b(?:j'|je )(?!préfé|aime|voud|souhait)\w+[eia]?rais\b|\bje ne sais pas si\b",
}
_SUPPOSES = {tongue: any_case(text) for tongue, text in _SUPPOSED.items()}
_LAUGHS = any_case(
    r"(?<!\w)(?:ha(?:ha)+h?|lol|lmao|rofl|hihi(?:hi)*|ja(?:ja)+|mdr|ptdr|/s|just kidding|kidding"
    r"|as if|yeah,? right|ja,? klar doch|(?:nur |war ein )?scherz|es broma|je (?:rigole|plaisante)"
    r"|just what I needed|I swear|kill(?:s|ing)? me|bringt mich (?:noch )?um"
    r"|me (?:va a )?mata(?:r|ndo)?"
    r"|va me (?:tuer|rendre)|sarcas\w+)(?!\w)|[\U0001f602\U0001f923\U0001f644\U0001f609]"
)
_MOCK = any_case(
    r"^\W*(?:oh,? |ugh,? |wow,? |na |ah,? |ach,? |qué |wie |how |comme c'est )*(?:great|wonderful"
    r"|fantastic"
    r"|perfect|brilliant|lovely|awesome"
    r"|toll|super|klasse|prima|wunderbar|herrlich|genial|estupendo|fantástico|maravilloso|perfecto"
    r"|génial|formidable|parfait|merveilleux|bravo)\b.*\b(?:another|again|yet more|one more"
    r"|schon wieder|noch (?:ein|mal)\w*|wieder|otr[oa]|otra vez|más|encore|de nouveau)\b"
)
_SHOUTED = re.compile(
    r"\b(?:so|SO|simply|just|really)? ?(?:LOVE|ADORE|ENJOY|LIKE|LIEBE|MAG|ADORO|AMO|ENCANTA|GUSTA"
    r"|AIME|ADOR\w+)\b"
)
_MISHAP = any_case(
    r"\b(?:simply|just|absolutely|einfach|simplemente|wait\w*|queue\w*|delay\w*|strikes?|traffic"
    r"|wart\w+|streik\w*|verspätung\w*|stau|esperar|huelgas?|retrasos?|atascos?|attendre"
    r"|grèves?|retards?|bouchons?)\b"
)
_MOOD = r"(?:(?:so|really|very|too|a bit|a little|quite|pretty|totally|just|feeling|still) )*"
_NOW = (
    r"(?: (?:today|tonight|now|right now|at the moment|already|again|this (?:morning|evening"
    r"|afternoon)|heute|gerade|jetzt|hoy|ahora|aujourd'hui|maintenant|ce soir|ce matin))*[\s.!]*$"
)
_FEELS = any_case(
    rf"\b(?:(?:I(?:'m| am)|I feel) {_MOOD}(?:tired|exhausted|hungry|thirsty|bored|sad|happy|angry"
    rf"|sleepy|cold|hot|stressed|excited|annoyed|nervous|late|busy|lonely|worried|frustrated|sick"
    rf"|in a hurry|in a (?:good|bad) mood){_NOW}|(?:ich (?:bin|habe)|bin ich|habe ich|mir ist)"
    r" (?:(?:heute|gerade|jetzt|so|sehr|total|ganz|echt|ziemlich|etwas|mal wieder)"
    rf" )*(?:müde|hungrig|durstig|traurig|glücklich|froh|wütend|gestresst|aufgeregt|genervt|nervös"
    rf"|kalt|warm|heiß|langweilig|kaputt|hunger|durst|gut gelaunt|schlecht gelaunt){_NOW}"
    r"|(?:estoy|me siento) (?:(?:muy|hoy|ahora|un poco|tan|bastante) )*(?:cansad|aburrid|content"
    rf"|triste|enfadad|nervios|estresad|feliz|ocupad|emocionad|preocupad)\w*{_NOW}|tengo (?:mucha? "
    rf")?(?:hambre|sed|sueño|frío|calor|prisa){_NOW}|je (?:suis|me sens) (?:(?:très|trop|si|un peu"
    r"|vraiment|tellement|assez) )*(?:fatigué|content|triste|heureu|énervé|stressé|nerveu|ennuyé"
    rf"|pressé|excité|inquiet)\w*{_NOW}|j'ai (?:très |trop )?(?:faim|soif|sommeil|froid"
    rf"|chaud){_NOW})"
)
_SERVICE = any_case(
    r"\b(?:love|like|enjoy|hate|appreciate|admire|trust|miss|thank) (?:\w+ ){0,3}?(?:you|your)\b"
    r"|\b(?:this|the|your) (?:app|chat|chatbot|bot|assistant|answers?|service|tool|website)\b"
    r"|\byou(?:'re| are) (?!to\b|allowed)|\b(?:diese|die|deine) (?:app|antwort\w*)\b|\bdieser"
    r" (?:bot"
    r"|assistent|dienst|chat)\b|\bdu bist\b|\b(?:esta (?:app|aplicación)|este (?:bot|asistente"
    r"|servicio)|tus respuestas)\b|\beres (?:un|una|muy)\b|\b(?:cette appli\w*|ce (?:bot|service"
    r"|chat)|cet assistant|tes réponses)\b|\btu es (?:un|une|très|vraiment)\b"
)
_PASSING = any_case(
    r"\bbrb\b|^(?:let me|lass mich|laisse[sz]?-moi|déj[ae]me)\b"
    r"|\bI(?:'ll| will) (?:let you know|get back|tell you|reply|answer|message you"
    r"|be right back)\b"
    r"|\bI meant\b|\bich (?:antworte|melde mich|schreibe? dir|sage? dir|erzähle? dir|meinte)\b"
    r"|\bte (?:contesto|respondo|aviso|digo|cuento)\b|\b(?:quería|quise) decir\b"
    r"|\bje (?:te|vous) (?:réponds|dis|écris|raconte|tiens au courant)\b|\bje voulais dire\b"
    r"|^(?:I'm|I am|estoy)(?! \w+ing\b)(?: [^\W\d]+){1,5} (?:today|tonight|right now|hoy"
    r"|ahora mismo)[\s.!]*$"
    r"|^(?:my|mein\w*|mi|mon|ma|the|de[rm]|die|das|el|la|le) [\w-]+ (?:is|ist|nervt|es|está"
    r"|est)(?: [^\W\d]+){0,3}"
    r" (?:so |total )?(?:today|tonight|right now|heute|gerade|hoy|ahora mismo|aujourd'hui|ce soir)"
    r"(?: (?:total|echt|voll|wieder|again))?[\s.!]*$"
)
"""Remarks about this conversation, or about this day only."""
_LIST = any_case(
    r"^(?:(?:I|we) (?:\w+ )?need(?: to (?:buy|get|pick up))?|(?:ich|wir) (?:brauche\w*|muss noch)"
    r"|necesito(?: comprar)?|il me faut|j'ai besoin d[e'])(?: [^\s,]+){1,4},.*\b(?:and|und|y|et)\b"
    r"|^(?:shopping list|einkaufsliste|einkaufszettel|lista de (?:la )?compras?"
    r"|liste de(?:s)? courses)\b"
)
_ORDER = any_case(
    r"^(?:(?:hey|ok(?:ay)?|please|bitte|por favor|now|and),? )*(?:(?:turn|switch|dim|play|pause"
    r"|skip|mute|unmute|lock|unlock|snooze|shuffle|buy|order|get|grab|pick up|text|close|charge)"
    r"\b|set (?:a|an|the|my)\b|call (?!me\b)|start (?:a|the|my)\b"
    r"|(?:schalte?|spiele?|dreh|kaufe?|bestelle?|starte|stoppe?|stelle?|pausiere?|ruf|rufe) "
    r"(?!(?:ich|wir)\b)|mach (?:das|die|den|mal|bitte)\b"
    r"|(?:apaga|enciende|pon|sube|baja|reproduce|abre|cierra|compra|pide|llama a|activa|desactiva)"
    r"\b|(?:allume|éteins|mets|monte|baisse|lance|ferme|joue|achète|coupe|démarre|active|appelle)"
    r"(?!-moi)\b)"
)
_SECRET = any_case(
    r"\boff the record\b|\b(?:just )?between (?:you and me|the two of us)\b"
    r"|(?:^|[,;:(-] ?)(?:just |strictly )?between us\b|\bbetween us[\s.!]*$"
    r"|\b(?:do ?n'?o?t|do not|never|no need to|please do not) (?:\w+ )?(?:store|save|record|note"
    r"|keep|write|log|memori[sz]e|remember)(?: down)? (?:this|that|it|any of (?:this|that))\b"
    r"|\bkeep (?:this|that|it) (?:to yourself|private|secret|between us)\b"
    r"|(?:^|[,;:(-] ?|\bbleibt )unter uns\b|\binoffiziell\b|\b(?:speicher|merk|notier|schreib"
    r"|behalt)\w*(?: es| dir| bitte| das| dies)+ (?:bitte )?nicht\b|\b(?:das|dies|es) (?:bitte )?"
    r"nicht (?:speichern|merken|notieren|aufschreiben)\b|\bbehalt\w* (?:das|es) für dich\b"
    r"|(?:^|[,;:(¡-] ?|\bquede )entre (?:nosotr[oa]s|tú y yo)\b|\bextraoficial\w*|\bno (?:lo |la "
    r"|me )?(?:guardes|apuntes|anotes|recuerdes|registres|memorices)(?: (?:esto|eso))?[\s,.:!]"
    r"|\bno (?:lo |la )?(?:guardes|apuntes|anotes|recuerdes)$|(?:^|[,;:(-] ?|\breste )entre nous\b"
    r"|\bhors micro\b|\bofficieusement\b|\bne (?:le |la |l')?(?:garde|note|enregistre|retiens"
    r"|mémorise|sauvegarde)[sz]? pas\b"
)
_UNSAID = any_case(
    r"^(?:please |bitte |por favor,? |oh,? |no,? |s'il te pla[iî]t,? )*"
    r"(?:forget (?:what |that )?I(?:'ve)? (?:just )?"
    r"(?:said|told you|mentioned)(?: that| this| it)?|forget (?:it|that|this)"
    r"|vergiss (?:es|das)(?: wieder)?|vergiss,? was ich (?:gerade|eben) gesagt habe"
    r"|olv[ií]da(?:lo| eso)|olvida lo que (?:acabo de decir(?:te)?|he dicho|dije)"
    r"|oublie (?:ça|cela)|oublie ce que je viens de dire)[\s.!]*$"
)
_FEW_WORDS = 7


def is_unmeant(text: str, tongue: str) -> bool:
    """Return True if a sentence is a daydream, a joke, a guess, a mood or an order to a device."""
    plain = straight(text).strip()
    supposes = _SUPPOSES.get(tongue)
    if supposes is not None and supposes.search(plain):
        return True
    patterns = (_LAUGHS, _MOCK, _FEELS, _SERVICE, _PASSING, _LIST, _ORDER)
    if any(pattern.search(plain) for pattern in patterns):
        return True
    return bool(_SHOUTED.search(text) and _MISHAP.search(plain))


def is_secret(text: str) -> bool:
    """Return True if a sentence asks to keep its content, or its neighbour's, out of memory."""
    return bool(_SECRET.search(straight(text)))


def only_asks_for_secrecy(text: str) -> bool:
    """Return True if a request for secrecy has no content itself, and concerns its neighbour."""
    return len(text.split()) <= _FEW_WORDS and not re.search(r"[,:;-]\s*+\S++ \S", text)


def not_told_to_the_memory(text: str) -> list[str]:
    """Return the clauses of a sentence that are about life, not about the memory.

    After a condition, no clause of the sentence is a fact.
    """
    plain = straight(text)
    if not _OF_MEMORY.search(plain):
        return [text]
    cuts = [(0, 0), *(match.span() for match in _OWN_CLAUSE.finditer(plain)), (len(text),) * 2]
    parts = [text[end:begin] for (_, end), (begin, _) in pairwise(cuts)]
    left = [part for part in parts if part and not _OF_MEMORY.search(straight(part))]
    return left if len(left) < len(parts) and not _CONDITION.match(plain) else []


_OWN_CLAUSE = any_case(
    r"(?:[,;]|\s-)\s+(?:(?:and|so|but|then|und|aber|denn|y|pero|así que|et|mais|alors|donc) )?"
    r"(?=(?:I|we|my|our|ich|wir|mein\w*|yo|me|nos|mis?|vivo|tengo|soy|je|j'\w+|nous|on|mon|ma"
    r"|mes)(?:'\w+)? )|[,;] (?=(?:also|deshalb|darum|daher|deswegen) \w+ (?:ich|wir)\b)"
)
_CONDITION = any_case(
    r"(?:if|once|when|unless|wenn|falls|sobald|si|cuando|quand|lorsque|dès que)\b"
)
_OF_MEMORY = any_case(
    r"\b(?:you|please|never mind|said|says|told|tells|asked|asks)\b.*\b(?:forget|delete|erase"
    r"|remember|unlearn)\b|\b(?:forget"
    r"|delete"
    r"|erase)\b.*\b(?:please|you)\b|(?:^|[,;:] |- )(?:(?:so|and|but|then|just) )?(?:forget|delete"
    r"|erase)\b|^never mind\b|\b(?:vergiss|vergesst|vergessen sie|lösche?)\b|\bdu (?:sollst"
    r"|solltest|musst|darfst|kannst)\b.*"
    r"\b(?:vergessen|löschen)\b|\bdu\b.*\b(?:vergisst|löschst)\b|\b(?:olvida(?:lo|te)?"
    r"|olvides|bórra\w+|borra|borres)\b|(?<!j')\b(?:oublie[sz]?|efface[sz]?)\b"
)


def takes_back_the_last(text: str) -> bool:
    """Return True if a sentence takes back the previous one: "Forget what I just said"."""
    return bool(_UNSAID.match(straight(text).strip()))


def is_idiom(text: str) -> bool:
    """Return True if such a sentence may also mean "never mind"."""
    return bool(_NEVER_MIND.match(straight(text).strip()))


_NEVER_MIND = any_case(
    r"^(?:oh,? |no,? )*(?:forget it|vergiss (?:es|das)|olv[ií]dalo|oublie (?:ça|cela))[\s.!]*$"
)
