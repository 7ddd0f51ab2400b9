"""Patterns over one sentence that extraction needs, for each language.

Texts come with straight apostrophes and dashes.
"""

import re
from dataclasses import dataclass


def any_case(text: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case."""
    return re.compile(text, re.IGNORECASE)


QUESTION = re.compile(r"(?:[?\uff1f\u061f]|\u304b\u3002?|\u5417\u3002?|\u5462\u3002?)[\s\"')]*$")
"""The end of a question, in any script."""


@dataclass(frozen=True)
class Phrases:
    """The patterns of one language; `remember` and `forget` have the group `said`.

    A question asks to forget something only if it is `polite`, unlike "Forget my allergies?".
    """

    first: re.Pattern[str]
    preference: re.Pattern[str]
    personal: re.Pattern[str]
    event: re.Pattern[str]
    remember: re.Pattern[str]
    forget: re.Pattern[str]
    polite: re.Pattern[str]
    always: re.Pattern[str]
    talk: re.Pattern[str]
    opening: re.Pattern[str]
    asking: re.Pattern[str]
    second: re.Pattern[str]
    request: re.Pattern[str]


ENGLISH = Phrases(
    first=any_case(
        r"(?<![\w/])I(?![\w/])|\b(?:I'?(?:m|ve|d|ll)|my|mine|me|we|we'(?:re|ve|d|ll)|our|ours|us|myself)\b"
    ),
    preference=any_case(
        r"\b(?:prefer\w*|favou?rites?|(?:I|we)(?:'d)?(?: \w+){0,2} (?:like|love|enjoy|hate|dislike"
        r"|adore|loathe)|can'?t stand|cannot stand|fan of|(?:am|'m|not|really) (?:really )?(?:into"
        r"|keen on|fond of)|(?:don|didn)'?t (?:like|enjoy|care for|eat|drink|want)|(?:do"
        r"|did) not (?:like|enjoy|eat|drink)|no longer (?:like|enjoy|eat|drink|want)|rather (?:have"
        r"|not|use|take|go)|i usually|i always|i never|vegan|vegetarian|pescatarian|(?:stopped"
        r"|gave up|quit) (?:\w+ing|\w+)|(?:works|suits) (?:best|better) for me|smokes?|vape"
        r"|obsessed with"
        r"|passion\w*|hooked on|go-to)\b"
    ),
    personal=any_case(
        r"\b(?:my (?:\w+'s )?(?:full |first |last |middle )?(?:name|age|birthday|address|e-?mail"
        r"|phone|mobile|number)|call me|I (?:\w+ )?(?:live|work|study|teach|grew up|was born|speak"
        r"|own|drive|rent)|I'?(?:m| am)(?: \w+)? (?:an?|the|from|based|allergic|intolerant|diabetic"
        r"|married|single|divorced|engaged|pregnant|retired|\d{1,3})\b|my \w*(?:husband|wife"
        r"|partner|girlfriend|boyfriend|fianc\w+|son|daughter|kids?|child(?:ren)?|baby|mom|mum"
        r"|mother|dad|father|parents|brother|sister|siblings?|grand\w+|aunt|uncle|cousin|nephew"
        r"|niece|dog|cat|pet|puppy|kitten|horse|boss|manager|team|company|employer|job|doctor|car"
        r"|house|apartment|flat|home\w*|family|friends?|allerg\w+|diagnos\w+|blood|health|back|knee"
        r"|surgery)|we have (?:\w+ ){0,2}(?:kids|children)|I (?:\w+ )?have (?:an?|two|three|four"
        r"|five|no|type|high|low|\d+)\b|I (?:take|suffer)|allergic|allergy|diagnosed)\b"
    ),
    event=any_case(
        r"\b(?:moved|moving|bought|got|started|starting|finished|graduated|joined|visited|went"
        r"|going to|flew|fly|flying|travel\w*|met|married|engaged|broke|lost|won|sold|adopted|born"
        r"|died|passed|signed|booked|planned|planning|plan to|will|'ll|decided|quit|left|leaving"
        r"|hired|promoted|launched|ordered|paid|hurt|injured|diagnosed|learn\w*|made|built|wrote"
        r"|read|saw|watched|ran|took|tak(?:e|ing) up|attend\w*|celebrat\w*|appointment|meeting|trip"
        r"|wedding|exam|interview|deadline|flight|vacation|holiday|conference|concert|party|been"
        r"|used to|tried|gave|helped|volunteer\w*|apply\w*|applied|accepted|research\w*|working on"
        r"|training|called|named)\b"
    ),
    remember=any_case(
        r"^(?:(?:so|and|also|ok(?:ay)?|but|oh),? )*(?:(?:can|could|would|will) you )?(?:please "
        r"|pls )?(?:just )?(?:I(?: want| need| would like| would love|'?d like"
        r"|'?d love) you to |you should "
        r"|make sure (?:to|you) )?(?:please )?(?:always )?(?:remember(?: for (?:me|next time"
        r"|the future))?,? ?(?:that|:|,)|remember (?=(?:I|my|I'm|we|our)\b)"
        r"|keep in mind(?:,? that|:|,)?"
        r"|bear in mind(?:,? that|:)?|(?:make a |take )?note ?(?:that|down that|:)|write down:"
        r"|make a note(?: that|:| of:?)?|for the record[,:]|for (?:future reference|next time)[,:]"
        r"|fyi[,:]?|just so you know[,:]?|save (?:that|this:)|store (?:that|this:))\s*(?P<said>.+)$"
    ),
    forget=any_case(
        r"^(?:(?:so|and|also|ok(?:ay)?|but|oh|actually|wait|sorry|hey|now|by the way"
        r"|btw),? )*(?:(?:can|could|would|will) (?:you|u) |you (?:can|may|should|must) "
        r"|(?:would|do) you mind |(?:it(?:'d| would) be \w+|I(?:'d| would) (?:\w+ ){1,2}?(?:it )?)"
        r"(?<!if) ?if you (?:could |would )?)?(?:please "
        r"|pls )?(?:just )?(?:I(?: want|'d like| would like"
        r"| need) you to )?(?:please )?(?:completely )?(?:(?:forget|forgot|(?<=mind )forgetting) "
        r"(?!to\b|it\b|me\b|not\b)(?:(?:what"
        r"|everything|anything|all|whatever) (?:that )?(?:I(?:'ve)? (?:\w+ )?(?:said|told you"
        r"|mentioned|shared|wrote)(?: to you)?|you (?:\w+ )?know|you have)?(?: (?:about|on"
        r"|regarding))?|about|the fact that|that)?|(?:do ?n'?o?t|no longer"
        r"|stop) remember(?:ing)?(?: that| about)?|I(?: do ?n'?t| do not| no longer) want you to "
        r"(?:remember|keep|know|store)(?: that| about)?|I(?:'d| would) rather you (?:did ?n'?o?t"
        r"|forgot|not) ?(?:remember|keep|know|store)?|stop (?:keeping|storing|tracking|saving)"
        r"(?: track of)?|do(?:n't| not) need to (?:know|remember"
        r"|keep)(?: that| about)?|(?:delete|deleted|remove|removed|(?<=mind )(?:delet|remov"
        r"|eras)ing|erase|wipe|clear|purge|scrap"
        r"|scratch|drop|discard|strike"
        r"|get rid of|throw (?:out|away))(?= .*(?:memor|you know|remember|my |the fact|what"
        r" (?:i|you)\b"
        r"|(?:everything|anything|all) |about)) (?:(?:what|everything|anything|all|whatever)"
        r" (?:that )?(?:I(?:\'ve)? (?:\w+ )?(?:said|told you|mentioned|shared|wrote)(?: to"
        r" you)?|you (?:\w+ )?(?:know|have|stored|saved|remember))(?: (?:about|on|of"
        r"|regarding))?)?)(?: from (?:your )?memory)?\s*(?P<said>.+)$"
    ),
    polite=any_case(
        r"^(?:[\w']+,? ){0,3}?(?:can|could|would|will|do) (?:you|u)\b|^I(?:'d| would| want| need)\b"
        r"|\b(?:please|pls)\b"
    ),
    always=any_case(
        r"^(?:please |and |so |also |by the way,? |in (?:the )?future,? |from now on,? "
        r"|going forward,? )*(?:always |never |from now on|going forward|in (?:the )?future,"
        r"|call me |address me|(?:be|keep it|stay) (?:more |very )?(?:brief|concise|short"
        r"|formal|informal"
        r"|polite|direct|simple|specific|honest)\b|(?:answer|reply|respond|write|speak|talk)"
        r" (?:to me )?(?:in|with"
        r"|only)\b|(?:do ?n'?o?t|no need to) (?:ever )?(?:suggest|recommend|call|contact|email|send"
        r"|show|book|use|mention|remind|offer)\b|use (?:metric|celsius|fahrenheit|kilomet|imperial"
        r"|bullet|simple|short|my )|keep (?:your |the )?(?:answers|replies|responses)|remind me )"
    ),
    talk=any_case(
        r"^(?:(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|night|day)|bye"
        r"|goodbye|see (?:you|ya)|take care|cheers|thanks?|thank you|thx|ty|welcome|congrat\w*"
        r"|happy (?:birthday|new year|holidays))\b.*|(?:ok(?:ay)?|yes|yep|yeah|yup|sure|no|nope"
        r"|right|alright|great|perfect|awesome|cool|nice|wow|oh|ah|hm+|lol|haha\w*|good|fine|sweet"
        r"|amazing|excellent|fantastic|wonderful|exactly|absolutely|definitely|totally|agreed"
        r"|indeed|understood|got it|no problem|no worries|sounds (?:good|great|fun|like .*)"
        r"|never ?mind|of course|(?:not )?at all|anyway\w*|you too|same here|me too|me neither"
        r"|my bad|just a (?:sec|second|moment|minute)|one (?:sec|second"
        r"|moment))(?:[\s,.!]+\w+){0,3}|(?:that|this|it)(?:'s| is| was| sounds| looks"
        r"| would be)? (?:\w+ ){0,3}(?:great|good|nice|helpful|perfect|awesome|amazing|cool|fine"
        r"|right|true|correct|fun|wonderful|lovely|interesting|funny|bad|sad|sense|works?|it|all|me"
        r"|now)\b.*|I(?:'m| am)? ?(?:(?:so |really |very |all |just |pretty |doing "
        r"|feeling )*(?:fine|good|great|well|ok(?:ay)?|sorry|sure|not sure|afraid|glad"
        r"|happy to (?:hear|help)|curious|wondering|confused|here|back|ready|done|listening|kidding"
        r"|joking|looking forward|browsing|grateful|thankful)\b.*|(?:don'?t|do not) (?:know"
        r"|think so|mind|care|understand|get it|remember)\b.*|(?:have|'ve got|got) (?:a|one|another"
        r"|some) (?:\w+ )?questions?\b.*|(?:(?:see|know|understand|agree"
        r"|mean)(?!(?: [\w']+)? (?:the|my|an?|how|some|\w+ (?:on|at|and|for))\b)"
        r"|think so|guess|hope so"
        r"|suppose|believe so|appreciate|bet|wonder|wish you|forgot)\b.*|(?:need|want|would like"
        r"|'d like|could use) (?:(?:some|a bit of|your) )?(?:help|advice|to (?:know|ask|see if"
        r"|check|thank))\b.*|was (?:just )?wondering\b.*|(?:will|'ll) (?:try|think about"
        r"|let you know|check|see|do)\b(?: \w+){0,3}|(?:really )?(?:love|like|enjoy) (?:it|that"
        r"|this|them)(?: \w+){0,2}|hope (?:you|that helps|this helps)\b.*|have to (?:go|run)\b.*"
        r"|(?:'ll|will|shall) (?:talk|see|catch) .*|can'?t wait)|let me (?:know|check|see"
        r"|think)\b.*|let'?s (?:see|go|do (?:it|that|this))\b.*|how (?:are|is|nice|lovely|exciting"
        r"|cool|about)\b.*|what an? \w+.*|you(?:'re| are) (?:\w+ )?(?:welcome|right|great|awesome"
        r"|the best|kind|amazing|so \w+)\b.*|talk (?:to you )?(?:soon|later).*|(?:have|enjoy) (?:a"
        r"|your) (?:\w+ )?(?:day|evening|night|weekend|one|time)\b.*|keep (?:it up|up the).*"
        r"|good (?:luck|job|for you|idea|point).*|my pleasure.*|you know.*"
        r"|(?:so |I'm )?sorry(?:[\s,]+(?:I (?:was|am) wrong|my (?:mistake|bad|fault)"
        r"|about (?:that|it|this)))?|no,? thanks?.*|(?:it's )?(?:just )?me again.*|it's me\b.*"
        r"|I (?:have |already |also )*(?:tried|did|do|saw|heard|got|checked) (?:it|that"
        r"|this)\b.*)[\s.!,)]*$"
    ),
    opening=any_case(
        r"^(?:hm+ |(?:hi|hello|hey|yo|oh|ah|well|so|scratch that|update|news|correction|sorry"
        r"|listen|look|funny"
        r" enough|ok(?:ay)?|yes|yeah|yep|no|and|also|but|btw|by the way|ugh|quick (?:question"
        r"|thing|one|note)"
        r"|sorry for (?:the|my) [\w ]{1,20}|actually|anyway|hmm+|um+|uh+|thanks|thank you|sure"
        r"|great|right|haha|wow|plus"
        r"|as (?:you know|I (?:said|mentioned))(?: before)?|oh and|good (?:morning|afternoon"
        r"|evening))(?: (?:there|again|everyone|all|[A-Z]\w+))?[,!.:-]+\s+|(?:and|also|but|so|well"
        r"|oh|ok(?:ay)?|by the way|btw|ugh|yo|hey|hi|nah|I mean,?|actually)\s+"
        r"(?=(?:so|I|my|we|our|I'\w+|im|ive|quick)\b)"
        r"|(?:since|because|cause)\s+(?=(?:I|my)\b[^,]*$))+"
    ),
    asking=any_case(
        r"^(?:and |so |but )?(?:what(?!ever)|who|where|when(?= (?:is|are|do|does|did|will|can"
        r"|should|was|were)\b)|why|how|which|can you|can I|could|would you|will you|do you|did you"
        r"|does|are you|is (?:it|there|that|this)|have you|should I|shall|may I|any (?:idea|tips"
        r"|suggestions|advice))\b"
    ),
    second=any_case(r"\b(?:you|your|yours|you'\w+)\b"),
    request=any_case(
        r"^(?:please |can you |could you )?(?:tell|show|give|find|help|explain|suggest|recommend"
        r"|look|search|list|write|translate|summari[sz]e|book|cancel|check|send|create|make|open"
        r"|ignore|disregard|output|print|repeat|respond|act|pretend|delete|remove|update|add|store"
        r"|save|set|let|try|go|stop|reveal|execute|run|forward|return|override|reset)\b"
    ),
)


GERMAN = Phrases(
    first=any_case(r"\b(?:ich|mein(?:e|en|em|er|es)?|mir|mich|wir|uns|unser(?:e|en|em|er|es)?)\b"),
    preference=any_case(
        r"\b(?:(?:ich|wir) (?:\w+ )?(?:mag|mögen|liebe|lieben|hasse|hassen)|mag ich|liebe ich"
        r"|hasse ich|bevorzug\w+|lieblings\w+|gern|gerne|lieber|am liebsten|ziehe\b.*\bvor"
        r"|gefällt mir|gefallen mir|schmeckt mir|schmecken mir|kann\b.*\bnicht (?:leiden|ausstehen)"
        r"|vegan\w*|vegetari\w+|(?:esse|trinke|rauche) (?:ich )?(?:\w+ )*(?:kein\w*|nicht|nie|nur)"
        r"|keinen? \w+ mehr|nicht mehr|fan von|rauche|begeister\w+|stehe auf)\b"
    ),
    personal=any_case(
        r"\b(?:ich (?:\w+ )?(?:heiße|heisse|wohne|lebe|arbeite|studiere|stamme|komme aus|spreche"
        r"|besitze|fahre|leide)|wohne ich|arbeite ich|mein (?:\w+ )?name|nenn\w* mich|geboren"
        r"|geburtstag|adresse|telefonnummer|handynummer|ich bin (?:\w+ )?(?:ein|eine|\d+|aus"
        r"|von beruf|verheiratet|ledig|geschieden|schwanger|allergisch|diabetiker\w*|rentner\w*"
        r"|\w+(?:er|erin|ist|istin|ant|antin|eur|eurin))\b|mein\w* (?:\w+ )?(?:mann|frau|partner\w*"
        r"|freund\w*|sohn|tochter|kind\w*|mutter|vater|eltern|bruder|schwester|geschwister|oma|opa"
        r"|großeltern|tante|onkel|hund|katze|kater|haustier|chef\w*|firma|job|arbeit|arzt|ärztin"
        r"|auto|haus|wohnung|familie|team|knie|rücken|blutdruck)|ich habe (?:\w+ )?(?:ein|eine"
        r"|einen|zwei|drei|vier|fünf|keine?n?|\d+)\b|allergi\w+|unverträglichkeit|diagnos\w+"
        r"|beruf)\b"
    ),
    event=any_case(
        r"\b(?:umgezogen|gezogen|gekauft|angefangen|begonnen|beginne|fange\b.*\ban|abgeschlossen"
        r"|besucht|geflogen|fliege|fliegen|gereist|reise\w*|fahre|gefahren|geheiratet|heirate\w*"
        r"|verlobt|getrennt|verloren|gewonnen|verkauft|adoptiert|gestorben|gebucht|buche|geplant"
        r"|plane|will|werde|werden|möchte|gekündigt|befördert|bestellt|bezahlt|verletzt|gelernt"
        r"|lerne|gebaut|geschrieben|gelesen|gesehen|gelaufen|trainiere|termin|urlaub|hochzeit"
        r"|prüfung|vorstellungsgespräch|flug|konzert|feier\w*|war|waren|hatte|gewesen|bekommen"
        r"|verpasst|operiert|operation)\b"
    ),
    remember=any_case(
        r"^(?:(?:und|also|ok(?:ay)?|ach),? )*(?:bitte )?(?:(?:kannst"
        r"|könntest) du (?:dir )?(?:bitte )?)?(?:(?:merk\w*|notier\w*)(?: (?:dir"
        r"|sie sich))?(?: bitte)?(?: mal)?(?:,? dass|:|,)"
        r"|ich (?:möchte|will|wünsche mir|hätte gern\w?),? dass du (?:dir |es |bitte |im"
        r" (?:kopf|hinterkopf|gedächtnis) )*(?:merkst|behältst|notierst|weißt|daran denkst)"
        r",? dass|denk\w* (?:bitte )?daran,? dass"
        r"|behalte (?:bitte )?im (?:kopf"
        r"|hinterkopf|gedächtnis)(?:,? dass|:)|zur info[:,]|nur zur info[:,])\s*(?P<said>.+)$"
    ),
    forget=any_case(
        r"^(?:(?:und|also|ok(?:ay)?|ach|bitte|doch|übrigens),? )*(?:(?:(?:kannst|könntest"
        r"|würdest) du|(?:können|könnten|würden) sie) (?:bitte )?(?:(?P<asked>.+?) (?:vergessen"
        r"|löschen)\b|(?:wieder )?vergessen,? dass (?P<clause>.+))"
        r"|ich (?:möchte|will),? dass du (?P<wanted>.+?) (?:vergisst|löschst)\b"
        r"|ich (?:möchte|will) nicht,? dass du (?:dir )?(?P<unwanted>.+?) (?:merkst|speicherst"
        r"|behältst"
        r"|weißt|notierst|aufhebst)\b"
        r"|du (?:sollst|brauchst|musst) (?:dir )?(?P<unneeded>.+?) nicht (?:mehr )?(?:zu"
        r" )?(?:merken|speichern"
        r"|behalten|wissen)\b|du (?:kannst|darfst|könntest|sollst"
        r"|solltest) (?:bitte )?(?P<allowed>.+?) (?:vergessen|löschen)\b"
        r"|(?P<named>(?!(?:ich|wir|er|sie|man)\b)[^,]+?) (?:(?:kannst|darfst"
        r"|könntest) du (?:\w+ )*|bitte (?:wieder )?)"
        r"(?:vergessen|löschen|streichen)\b|bitte (?P<begged>[^,]+?) (?:vergessen|löschen"
        r"|streichen)\b"
        r"|(?:vergiss|vergessen sie|lösch\w*"
        r"|streich\w*|entfern\w*),? (?:bitte )?(?:wieder )?(?!nicht\b|es\b"
        r"|mich\b),?(?:dass )?(?P<said>.+))[.!?]*$"
    ),
    polite=any_case(
        r"^(?:\w+,? ){0,3}?(?:(?:kannst|könntest|würdest) du|(?:können|könnten|würden) sie)\b"
        r"|\bbitte\b"
    ),
    always=any_case(
        r"^(?:bitte |und |also )*(?:immer |nie(?:mals)? |ab (?:jetzt|sofort)|künftig|in zukunft"
        r"|(?:sei|fass dich|halt dich|bleib)(?: bitte)? (?:kurz|knapp|höflich"
        r"|direkt|präzise|förmlich)"
        r"|von nun an|nenn\w* mich|sprich mich|(?:antworte|schreib|sprich)\w* (?:mir "
        r"|bitte )*(?:immer |nur |auf|in|kurz)|erinner\w* mich|duz\w* mich|siez\w* mich|(?:schlag"
        r"|empfiehl|empfehl|buch)\w* (?:mir )?(?:bitte )?(?:immer|nie|kein\w*|nur)\b)"
    ),
    talk=any_case(
        r"^(?:(?:hallo|hi|hey|moin|servus|grüß\w*|guten (?:morgen|tag|abend)|gute nacht|tschüss"
        r"|tschüß|ciao|auf wiedersehen|bis (?:dann|bald|später|morgen)|danke|vielen dank"
        r"|besten dank|herzlichen (?:dank|glückwunsch)|bitte (?:schön|sehr)|gern geschehen)\b.*"
        r"|(?:ok(?:ay)?|ja|jo|nein|nee|klar|genau|gut|super|toll|prima|perfekt|alles klar|stimmt"
        r"|richtig|wow|oh|ah|aha|ach so|hm+|haha\w*|cool|schön|schade|verstehe|verstanden"
        r"|kein problem|macht nichts|natürlich|sicher|passt)(?:[\s,.!]+\w+){0,3}|(?:das|es"
        r"|so) (?:ist|war|klingt|wäre|passt|geht|hört sich|freut|stimmt|sieht|hilft)\b(?: \w+){0,5}"
        r"|(?:ich )?(?:weiß (?:es )?nicht|glaube (?:schon|nicht|ja)|denke (?:schon|ja)|verstehe"
        r"|hoffe|freue mich|danke|bin (?:gespannt|dabei|da|wieder da|mir nicht sicher)|überlege"
        r"|habe (?:noch )?(?:eine|ein paar) (?:kurze )?fragen?)\b(?: \w+){0,6}"
        r"|ich brauche (?:\w+ )?(?:hilfe|rat)\b.*|mir geht(?: e|')?s? (?:es )?(?:\w+ )?(?:gut|super"
        r"|schlecht|okay)\b.*|wie (?:geht|nett|schön|toll|cool)\b.*|da bin ich\b.*|einen"
        r" schönen \w+.*"
        r"|schönen \w+.*|mal (?:sehen|schauen).*|viel (?:spaß|erfolg|glück).*)[\s.!,)]*$"
    ),
    opening=any_case(
        r"^(?:(?:hallo|hi|hey|moin|oh|ach|ach ja|na ja|naja|also|ok(?:ay)?|ja|nein|doch|und|aber"
        r"|übrigens|(?:ganz )?(?:kurze|kleine|schnelle) frage|update|neuigkeiten|korrektur|leider"
        r"|danke|gut|super|klar|genau|stimmt|tja"
        r"|guten (?:morgen|tag|abend)|wie (?:gesagt"
        r"|du weißt))(?: (?:zusammen|nochmal|noch|[A-Z]\w+))?[,!.:-]+\s+|(?:und|aber|also"
        r"|übrigens)\s+(?=(?:ich|mein\w*)\b))+"
    ),
    asking=any_case(
        r"^(?:und |aber |also )?(?:was|wer|wo|wann|warum|wieso|wie(?= )|welche\w*|wohin|woher"
        r"|kannst|könntest|könnten|können sie|hast du|bist du|weißt du|gibt es|soll ich|darf ich"
        r"|magst du|wird es)\b"
    ),
    second=any_case(r"\b(?:du|dir|dich|dein\w*)\b"),
    request=any_case(
        r"^(?:bitte )?(?:zeig|sag|gib|hilf|erklär|such|finde?|buch|storniere?|schick|schreib"
        r"|erstell|mach|öffne|ignorier|lösch|entfern|füg|empfiehl|schlag|übersetz|fass|nenn)\w*\b"
    ),
)


SPANISH = Phrases(
    first=any_case(
        r"\b(?:yo|mi|mis|mí|me|conmigo|nosotr[oa]s|nos|nuestr[oa]s?|soy|estoy|tengo|vivo|trabajo"
        r"|prefiero|quiero|odio|voy|fui|hago|hice|tuve|puedo|debo|necesito|como(?= (?:carne|pescado"
        r"|de))|bebo|uso|fumo|estudio|hablo|juego|viajo|llevo|conduzco|sufro|padezco|amo|adoro"
        r"|detesto"
        r"|creo|espero|planeo|pienso|sé|he \w+[ds]o|estuve|era(?= yo)|empec[eé]|somos|tenemos"
        r"|estamos|hemos"
        r"|vivimos|vamos|(?!qué\b|porqué\b|café\b|bebé\b|té\b|también\b|josé\b)\w{3,}é|dej[eé]"
        r"|cumplo|salgo|vengo|duermo|corro|leo|escribo|toco|cocino|evito|suelo|nací|crecí|aprendí"
        r"|conocí|conseguí|perdí|decidí|recibí|vendí)\b"
        r"|^(?:(?:ahora|ya|hoy|siempre|nunca|no|me|lo|la|normalmente|tampoco|también)"
        r" )*(?!(?:dijo|hizo|vino|puso|quiso|pudo|tuvo|estuvo|supo|hubo|luego|todo|mucho|poco"
        r"|otro|algo"
        r"|cuando|tanto|nuestro|primero|nuevo|mismo|bueno|claro) )\w{3,}o(?= )|^(?:(?:ya|no|nunca"
        r"|siempre|tampoco|también) )+"
        r"(?!mucho|todo|tanto|poco|mismo|claro|bueno|malo|nuevo|solo)\w{3,}o\b"
    ),
    preference=any_case(
        r"\b(?:prefer\w*|prefiero|preferid[oa]s?|favorit[oa]s?|(?:me|nos) (?:gustan?|gustaba\w*"
        r"|encantan?|fascinan?|apasionan?|molestan?|interesan?)|odio|detesto|adoro|amo|no soporto"
        r"|no (?:como|bebo|tomo|quiero)\b|ya no|vegan[oa]|vegetarian[oa]|fumo|dejé de|he"
        r" dejado de|suelo"
        r"|siempre (?:\w+o)|nunca (?:\w+o)|mejor para mí)\b"
    ),
    personal=any_case(
        r"\b(?:me llamo|mi (?:\w+ )?(?:nombre|edad|cumpleaños|dirección|correo|teléfono|número"
        r"|móvil)|llámame|vivo|trabajo|estudio|nací|crecí|hablo|tengo (?:un|una|dos|tres|cuatro"
        r"|cinco|\d+)\b|soy (?!yo)\w+|somos|estoy (?:casad|solter|divorciad|embarazad|jubilad"
        r"|prometid)\w+|mis? (?:\w+ )?(?:marido|esposo|esposa|mujer|pareja|novi[oa]|hij[oa]s?"
        r"|niñ[oa]s?|madre|padre|padres|mamá|papá|herman[oa]s?|abuel[oa]s?|tí[oa]s?|prim[oa]s?"
        r"|sobrin[oa]s?|perr[oa]s?|gat[oa]s?|mascotas?|jef[ea]|empresa|trabajo|médic[oa]|coche"
        r"|carro|casa|piso|apartamento|familia|amig[oa]s?|equipo|rodilla|espalda)|alérgic[oa]"
        r"|alergia|intoleran\w+|diabétic[oa]|diagnosticad?\w*|diagnosticaron)\b"
    ),
    event=any_case(
        r"\b(?:mud[éeoa]\w*|mudado|compr\w+|empe\w+|empiezo|comenc\w+|termin\w+|gradu\w+|visit\w+"
        r"|vol[éaó]\w*|viaj\w+|conocí|cas[éóa]\w*|comprom\w+|perd\w+|gan\w+|vend\w+|adopt\w+|murió"
        r"|reserv\w+|plane\w+|voy a|vamos a|iré|iremos|quiero|decid\w+|renunci\w+|ascend\w+"
        r"|contrat\w+|pag\w+|lesion\w+|aprend\w+|escrib\w+|leí|vi|corr\w+|cita|reunión|viaje|boda"
        r"|examen|entrevista|vuelo|vacaciones|concierto|fiesta|fui|fuimos|era|estuve|tuve|nació"
        r"|operar\w*|operaron|operación|llevo|celebr\w+|prepar\w+|entren\w+)\b"
    ),
    remember=any_case(
        r"^(?:(?:y|ah|bueno|ok(?:ay)?|vale),? )*(?:por favor,? )?(?:¿?(?:puedes"
        r"|podrías) )?(?:recuerd[ae]n?|recordar|acuérdate(?: de)?|ten(?:ga)? en cuenta"
        r"|apunta|anota|toma nota(?: de)?|que conste"
        r"|(?:quiero|quisiera|me gustaría|necesito) que"
        r" (?:rec[ou]e?rd|te ac[ou]e?rd|sep|apunt|anot)\w+(?: de)?"
        r"|para que (?:lo )?sepas)(?:,? por favor,?)?(?:,? que|:"
        r"|,)\s*(?P<said>.+)$"
    ),
    forget=any_case(
        r"^(?:(?:y|ah|bueno|ok(?:ay)?|vale|oye|por cierto),? )*(?:(?P<first>(?:lo|todo"
        r"|mis?) [^,]+),?"
        r" (?:olvíd|bórr|elimín|quít)[ae]l[oa]s?\b.*|(?:por favor,? )?¿?(?:(?:puede[sn]?"
        r"|podría[sn]?) (?:por favor )?|quiero que |necesito que )?(?:(?:olvid(?:a|e|es|ar|en)"
        r"|olvídate"
        r"|olvidarte|olvídese)(?: de)?|(?:borr|elimin|quit|descart)(?:a|e|es|ar)"
        r"|no (?:quiero que )?(?:recuerdes|guardes|sepas|conserves"
        r"|almacenes)(?: más)?)(?:,? por favor,?)? (?!lo\b(?! (?:de|que)\b)|que no\b)(?:(?:lo"
        r"|todo lo"
        r"|todo) (?:que )?(?:te )?(?:(?:he )?(?:dij[eo]|dicho|conté|contado|sabes"
        r"|mencioné))?(?: (?:sobre|de|acerca de))?|(?:de )?que|sobre)?\s*(?P<said>.+))$"
    ),
    polite=any_case(
        r"^¿?(?:\w+,? ){0,3}?¿?(?:puede[sn]?|podría[sn]?)\b|^(?:quiero|necesito) que\b"
        r"|\bpor favor\b"
    ),
    always=any_case(
        r"^(?:por favor,? |y )*(?:siempre |nunca |a partir de ahora|de ahora en adelante"
        r"|en (?:el )?futuro|llámame|s[eé] (?:más )?(?:breve|concis[oa]|direct[oa]|formal)"
        r"|(?:responde|contesta|escribe|háblame|respóndeme"
        r"|contéstame)\w* (?:siempre |solo |en |de )|tutéame|trátame|recuérdame"
        r"|no me (?:recomiendes|sugieras|llames|envíes|ofrezcas|propongas))"
    ),
    talk=any_case(
        r"^[¡¿]?(?:(?:hola|buen[oa]s|hey|saludos|buen día|adiós|chao|hasta (?:luego|pronto|mañana)"
        r"|nos vemos|muchas gracias|mil gracias|gracias|de nada|felicidades|enhorabuena)\b.*"
        r"|no(?: (?:gracias|mucho|tanto|todavía|aún|importa|hace falta|hay (?:problema|de qué"
        r"|prisa)"
        r"|te preocupes|es eso|está mal))*|no[,.!]+(?:[\s,.!¡]*\w+){0,3}"
        r"|(?:ok(?:ay)?|vale|sí|si|claro|perfecto|genial|bien|muy bien|bueno|estupendo|excelente"
        r"|guay|wow|ah|oh|ajá|mmm+|ja(?:ja)+|entiendo|entendido|de acuerdo|por supuesto|exacto"
        r"|correcto|tranquil[oa]|no pasa nada|qué (?:bien|bueno|pena|lástima|guay|interesante"
        r"|divertido))(?:[\s,.!¡]+\w+){0,3}|(?:eso|esto) (?:es|está|suena|parece"
        r"|sería)\b(?: \w+){0,5}|(?:suena|me parece|está) (?:muy )?(?:bien|genial|perfecto"
        r"|interesante)\b(?: \w+){0,3}|(?:no lo sé|no sé(?! \w+[aei]r\b)|creo que (?:sí|no)"
        r"|espero que sí"
        r"|me alegr\w+|lo siento|estoy (?:muy )?(?:bien|de acuerdo|segur[oa]|aquí|list[oa])"
        r"|yo también|tengo (?:una|otra) (?:pregunta|duda)|necesito (?:tu )?(?:ayuda|consejo)"
        r"|te lo agradezco|me (?:encanta|gusta)(?: mucho)?(?: (?:es[ao]|esta|esto|la idea"
        r"|tu idea))?$|ya veo"
        r"|lo entiendo)\b(?: \w+){0,5}|(?:cómo|qué tal)\b.*|que tengas .*|buena suerte.*"
        r"|voy a (?:ver|probar|pensar\w*)\b(?: \w+){0,2})[\s.!¡?,)]*$"
    ),
    opening=any_case(
        r"^[¡¿]?(?:(?:hola|hey|oye|ah|oh|bueno|pues|vale|ok(?:ay)?|sí|no|claro|y|pero|por cierto"
        r"|además|(?:una )?pregunta(?: rápida)?|novedades|corrección|gracias|perfecto|genial"
        r"|buen[oa]s(?: días| tardes| noches)?"
        r"|como (?:sabes"
        r"|te dije))(?: (?:de nuevo|otra vez|[A-Z]\w+))?[,!.:-]+\s+|(?:y|pero|además|oye|por cierto"
        r"|pues)\s+(?=(?:yo|mi|me|no|he|soy|tengo|estoy|vivo|trabajo|ahora|ya)\b))+"
    ),
    asking=any_case(
        r"^(?:¿|(?:y |pero )?(?:qué|quién|dónde|cuándo|por qué|cómo(?! de)|cuál|cuánt\w+|puedes"
        r"|podrías|sabes|tienes|hay)\b)"
    ),
    second=any_case(r"\b(?:tú|tu|tus|te|ti|usted|su|eres|debes|tienes)\b"),
    request=any_case(
        r"^(?:por favor,? )?(?:(?:dime|muéstra|da|b[uú]sca|enc[uo]+[eé]ntra|ay[uú]da|expl[ií]ca"
        r"|sugi[eé]re"
        r"|recomi[eé]nda|res[eé]rva|canc[eé]la|env[ií]a|m[aá]nda|escr[ií]be|h[aá]z|cr[eé]a"
        r"|prepara|prep[aá]ra"
        r"|ignora|borra|elimina|añade|guarda|trad[uú]ce|resume|res[uú]me)(?:me|nos|le|lo|la"
        r"|melo)?)\b"
    ),
)


FRENCH = Phrases(
    first=any_case(
        r"\b(?:je|mon|ma|mes|moi|me|nous|notre|nos|le mien|la mienne)\b|\b[jm]'(?=\w)"
        r"|\bon (?:n')?(?:a|est|va|vit|habite|loue|part|déménage|emménage|attend|fête|économise"
        r"|s'est|se marie|vient)\b"
    ),
    preference=any_case(
        r"(?:\b(?:préf[éè]r\w*|favori\w*|passionn\w+|j'(?:aime\w*|adore|apprécie)|n'aime\w*|adore"
        r"|déteste|je (?:ne )?supporte|je fume|horreur|me pla[iî]t|me plaisent|végétarien\w*"
        r"|végane?|vegan"
        r"|fan de|je (?:mange|bois) (?:pas|toujours|jamais|du|de)|ne (?:mange|bois|fume|prends|veux"
        r"|consomme) (?:pas|plus|jamais)|arrêté (?:de|d'|le|la|les)|plutôt|d'habitude)\b|\bn'aime)"
    ),
    personal=any_case(
        r"(?:\b(?:je m'appelle|appelle[sz]?-moi|mon (?:\w+ )?(?:nom|prénom|âge|anniversaire|adresse"
        r"|numéro|téléphone|mail|e-mail|adresse)|mon adresse|j'habite|je (?:\w+ )?(?:vis|travaille"
        r"|viens de|parle|conduis|souffre|loge)|j'(?:étudie|enseigne|ai (?:un|une|deux|trois|quatre"
        r"|cinq|des|\d+))|je n'ai (?:pas|plus|aucun)|je suis (?!sûr|désolé|content|d'accord"
        r"|là\b)\w+|né[e]? (?:à|en|le)|m(?:on|a|es) (?:\w+ )?(?:mari|femme|compagn\w+|copain|copine"
        r"|conjoint\w*|fils|fille|filles|enfants?|bébé|mère|père|parents|maman|papa|frères?|sœurs?"
        r"|soeurs?|grand\w*|tante|oncle|cousin\w*|neveu|nièce|chien\w*|chats?|chatte|animal|chef\w*"
        r"|patron\w*|entreprise|travail|boulot|médecin|voiture|maison|appartement|famille|ami\w*"
        r"|équipe|genou|dos)|allergi\w+|intoléran\w+|diabétique|diagnostiqu\w+)\b)"
    ),
    event=any_case(
        r"\b(?:déménag\w+|achet\w+|commenc\w+|termin\w+|fini|diplôm\w+|visit\w+|vol|pris l'avion"
        r"|voyag\w+|rencontr\w+|mari[ée]\w*|fianc\w+|perdu\w*|gagn\w+|vend\w+|adopt\w+|mort\w*"
        r"|décédé\w*|réserv\w+|prév\w+|vais|allons|irai|irons|veux|voudrais|décid\w+|démission\w+"
        r"|promu\w*|embauch\w+|command\w+|pay\w+|bless\w+|appris|apprends|écri\w+|lu|vu|cour\w+"
        r"|rendez-vous|réunion|voyage|mariage|examen|entretien|vacances|concert|fête|suis"
        r" all[ée]\w*"
        r"|sommes all[ée]\w*|était|étais|avais|né|née|opér\w+|parti\w*|pars|arrivé\w*|entraîn\w+"
        r"|prépar\w+)\b"
    ),
    remember=any_case(
        r"^(?:(?:et|ah|bon|ok(?:ay)?|alors),? )*(?:s'il (?:te|vous) plaît,? )?(?:(?:peux"
        r"|pourrais)-tu )?(?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|retiens|retenez"
        r"|retenir|note[sz]?|garde[sz]? en tête|sache[sz]?|prends note"
        r"|je (?:veux|voudrais|souhaite|aimerais) que tu (?:te (?:souviennes|rappelles)|retiennes"
        r"|saches|notes)|j'aimerais que tu (?:te (?:souviennes|rappelles)|retiennes|saches|notes)"
        r"|pour info)(?: bien)?(?:,? s'il (?:te|vous) plaît,?)?(?:,? que? ?|,? qu'|\s*:"
        r"|,)\s*(?P<said>.+)$"
    ),
    forget=any_case(
        r"^(?:(?:et|ah|bon|ok(?:ay)?|alors|au fait),? )*(?:(?P<first>(?:tout )?(?:ce que|mon|ma"
        r"|mes)"
        r" [^,]+),? (?:oublie|efface|supprime)[sz]?-l(?:e|a|es)\b.*|(?:s'il (?:te"
        r"|vous) plaît,? )?(?:"
        r"(?:est-ce que )?(?:(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous|tu (?:peux|pourrais)"
        r"|vous (?:pouvez|pourriez)) (?:s'il (?:te|vous) plaît )?|je veux que tu "
        r"|j'aimerais que tu |il faut que tu )?(?:oublie[srz]?|efface[srz]?|enlève[sz]?|retire[sz]?"
        r"|supprime[srz]?|je ne veux (?:pas|plus) que tu (?:gardes|retiennes|saches|conserves"
        r"|mémorises|te souviennes de|te rappelles))(?:,? s'il (?:te|vous) plaît,?)? (?!pas\b"
        r"|ça\b|cela\b)(?:"
        r"(?:tout )?ce que (?:je t'ai (?:dit|raconté)"
        r"|tu sais|j'ai dit)(?: (?:sur|de|à propos de))?|tout sur|qu'|que"
        r"|à propos de)?\s*(?P<said>.+))$"
    ),
    polite=any_case(
        r"^(?:[\w'-]+,? ){0,3}?(?:(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous"
        r"|tu (?:peux|pourrais)|vous (?:pouvez|pourriez))\b"
        r"|^(?:je veux|j'aimerais|il faut)\b|\bs'il (?:te|vous) plaît"
    ),
    always=any_case(
        r"^(?:s'il (?:te|vous) plaît,? |et )*(?:toujours |jamais |désormais|dorénavant"
        r"|à partir de maintenant|(?:sois|soyez) (?:plus )?(?:bref|brève|concis\w*|poli\w*"
        r"|direct\w*)|à l'avenir|appelle[sz]?-moi|tutoie[sz]?-moi|vouvoie[sz]?-moi"
        r"|(?:réponds|écris|parle)(?:-moi)? (?:toujours |en |uniquement )|rappelle[sz]?-moi (?:de"
        r"|d')|ne me (?:propose|recommande|suggère|parle|envoie)\w* (?:pas|plus|jamais))"
    ),
    talk=any_case(
        r"^(?:(?:bonjour|bonsoir|salut|coucou|hello|bonne (?:nuit|journée|soirée)|au revoir"
        r"|à (?:bientôt|demain|plus|tout à l'heure)|merci|de rien|félicitations|bravo|je (?:te"
        r"|vous) remercie)\b.*|(?:ok(?:ay)?|oui|ouais|non|si|d'accord|bien|très bien|bon|parfait"
        r"|super|génial|cool|excellent|génial|exactement|bien sûr|entendu|compris|je vois|ah|oh|wow"
        r"|hm+|haha\w*|pas de problème|pas de souci|tant pis|dommage|tant mieux|évidemment"
        r"|volontiers)(?:[\s,.!]+[\w']+){0,3}|(?:c'(?:est|était)|ça|cela|ce serait) (?:\w+ ?){0,6}"
        r"|(?:je )?(?:ne )?(?:sais pas(?! \w+(?:er|ir|re)\b)|pense que (?:oui|non)"
        r"|crois que (?:oui|non)|comprends"
        r"|suis (?:désolé\w*|content\w*|ravi\w*|d'accord|là|prêt\w*|pas sûr\w*)|vais (?:bien|voir"
        r"|essayer|réfléchir))\b(?: [\w']+){0,5}|j'(?:espère|adore(?= (?:ça|cela|l'idée"
        r"|cette idée|ton idée)|\W*$)|aime (?:bien )?ça|ai (?:une"
        r"|encore une|quelques) (?:petite )?questions?|ai besoin (?:d'aide|de (?:ton|votre|tes"
        r"|vos) \w+)|aimerais savoir)\b.*|moi aussi.*|comment (?:ça|vas|allez)\b.*"
        r"|quel(?:le)? \w+ (?:idée|nouvelle|surprise).*|bonne chance.*"
        r"|à votre service.*)[\s.!?,)]*$"
    ),
    opening=any_case(
        r"^(?:(?:bonjour|bonsoir|salut|coucou|hello|ah|oh|eh bien|bon|ben|alors|ok(?:ay)?|oui|non"
        r"|d'accord|et|mais|au fait|d'ailleurs|(?:une )?petite question|une question|nouvelles"
        r"|correction|merci|super|parfait|comme"
        r" (?:tu (?:le )?sais"
        r"|je l'ai dit))(?: (?:à tous|encore|[A-Z]\w+))?\s?[,!.:-]+\s+|(?:et|mais|alors|au fait"
        r"|puis)\s+(?=(?:je|mon|ma|mes|moi)\b|j'))+"
    ),
    asking=any_case(
        r"^(?:et |mais )?(?:qu'est-ce|est-ce|que(?= (?:peux|pensez|penses|dois|faire))|qui (?:est"
        r"|a)\b|où\b|quand (?:est|as|vas|dois)|pourquoi|comment|quel\w*|combien|peux-tu|pouvez-vous"
        r"|pourrais-tu|pourriez-vous|sais-tu|as-tu|es-tu|y a-t-il|dois-je|puis-je|(?:je"
        r"|on) (?:peux|peut|pourrais|dois|doit|fais) \w+)\b"
    ),
    second=any_case(r"\b(?:tu|te|toi|ton|ta|tes|vous|votre|vos)\b|\bt'"),
    request=any_case(
        r"^(?:s'il (?:te|vous) plaît,? )?(?:dis|montre|donne|trouve|aide|explique|propose"
        r"|recommande|cherche|réserve|annule|envoie|écris|crée|fais|ignore|efface|supprime|ajoute"
        r"|traduis|résume|ouvre)[rsz]?\b"
    ),
)
