"""The phrases of German; see `phrases.Phrases` for the meaning of each pattern."""

from app.language.phrases import Phrases, any_case

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
