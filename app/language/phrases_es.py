"""The phrases of Spanish; see `phrases.Phrases` for the meaning of each pattern."""

from app.language.phrases import Phrases, any_case

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
