"""The phrases of French; see `phrases.Phrases` for the meaning of each pattern."""

from app.language.phrases import Phrases, any_case

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
