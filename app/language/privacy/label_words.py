"""Words that announce a secret, and words that follow them in ordinary talk.

English, German, Spanish and French, which the rules read, with Italian, Portuguese, Dutch, Polish
and Russian; a few Chinese and Japanese words.
"""

WORDY = (
    r"passwords?|passwd|passcodes?|pass[ -]?phrases?|pass[ _-]code|pwd|pw"
    r"|passwort|passwörter|kennwort|kennwörter|losungswort"
    r"|contrase(?:ñ|n\x{0303}?)as?|frase de contrase(?:ñ|n\x{0303}?)a|frase secreta"
    r"|mots? de passe|phrase secr(?:è|e\x{0300}?)te|phrase de passe|mdp"
    r"|parola d.ordine|frase segreta|senha|palavra[ -]passe"
    r"|wachtwoord(?:en)?|wachtzin|has[łl](?:o|a|em)|парол(?:ь|я|ем|и|ю)|кодовое слово"
    r"|(?:wi-?fi|wlan|wpa[23]?|network|netzwerk|hotspot|router)[ -]?"
    r"(?:key|code|psk|schl(?:ü|ue)ssel|sleutel)"
    r"|clave (?:del?|de la) (?:wi-?fi|red)|clé (?:du |de )?wi-?fi"
    r"|chiave (?:del |di )?(?:wi-?fi|rete)|chave (?:do |da )?(?:wi-?fi|rede)"
    r"|klucz (?:do |sieci )?wi-?fi|ключ (?:от |к )?wi-?fi"
)
"""Labels that may have an ordinary word as their value."""
NUMERIC = (
    r"pin(?:[ -]?(?:code|number|nummer))?|cvv2?|cvc2?|csc|nip|tan"
    r"|geheimzahl|geheimnummer|(?:karten)?prüfnummer|prüfziffer|(?:security|sicherheits)[ -]?code"
    r"|code (?:pin|secret|confidentiel)|c[óo]digo (?:pin|secreto|de seguridad|de segurança)"
    r"|codice (?:pin|segreto|di sicurezza)|code de sécurité|cryptogramme(?: visuel)?"
    r"|kod pin|пин(?:-?код)?"
)
"""Labels of numbers."""
OPAQUE = (
    r"(?:api|access|secret|private|auth|encryption|signing|license|licence|service|account"
    r"|subscription|shared|recovery|backup|network security)[ _-]?key|wpa[23]?(?:[ -]psk)?"
    r"|(?:api|access|auth|bearer|refresh|session)[ _-]?token"
    r"|(?:api|client|app)[ _-]?secret|(?:secret|shared)[ _-]access[ _-]key"
    r"|api[ -]?schlüssel|(?:zugriffs|zugangs|geheim)schlüssel|zugangscode|zugriffscode|geheimnis"
    r"|clave(?: (?:secreta|privada|api|de (?:la )?api|de acceso))?|secreto"
    r"|clé (?:secrète|privée|api|d.api|d.accès|de l.api)|clef (?:d.api|d.accès)"
    r"|jeton(?: d.accès)?|code d.accès|identifiants"
    r"|chiave (?:segreta|privata|api|di accesso|d.accesso)|segreto|gettone"
    r"|chave (?:secreta|api|de api|da api|de acesso)|segredo"
    r"|(?:api|toegangs)[ -]?sleutel|geheime sleutel|toegangscode|klucz (?:api|dostępu|prywatny)"
    r"|kod dostępu|ключ (?:api|доступа)|секретный ключ|токен"
    r"|credentials?|zugangsdaten|secret|token"
)
"""Labels of values other than ordinary words; the longer of two with one beginning comes first."""
PHRASES = (
    r"(?:seed|recovery|backup|secret|mnemonic|wallet)[ -]?(?:phrase|words?|seed|mnemonic)|mnemonic"
    r"|seed(?:[ -]?phrase)?\s*(?::|=|is\b|ist\b|lautet\b)"
    r"|wiederherstellungs[ -]?(?:phrase|wörter|satz)|merkphrase"
    r"|frase (?:semilla|secreta|de (?:recuperación|recuperação)|di recupero|seme|semente|segreta)"
    r"|phrase (?:secrète|de récupération|mnémonique)|herstel(?:zin|woorden)"
    r"|fraza (?:odzyskiwania|seed)|(?:сид|мнемоническая|секретная)[ -]фраза"
    r"|助记词|助記詞|シードフレーズ|リカバリーフレーズ|ニーモニック"
)
"""Labels of twelve or more words."""
CODES = (
    r"(?:recovery|backup|rescue|emergency|scratch|one[ -]time|2fa|mfa)[ -]?codes?"
    r"|(?:wiederherstellungs|backup-?|notfall)codes?|códigos? de (?:recuperación|respaldo)"
    r"|códigos? de (?:recuperação|segurança)|codes? de (?:récupération|secours)"
    r"|codic[ei] di (?:recupero|backup)|herstelcodes?|kody (?:odzyskiwania|zapasowe)"
    r"|(?:резервные )?коды (?:восстановления|доступа)|резервные коды"
    r"|恢复(?:代码|码)|备用(?:代码|码)|リカバリーコード|バックアップコード"
)
"""Labels of lists of codes."""
UNSPACED_WORDY = "密[码碼]|口令|パスワード|パスフレーズ|合言葉"
UNSPACED_NUMERIC = "(?:PIN|pin)[码碼]|暗証番号|パスコード|安全[码碼]|セキュリティコード"
"""Labels of scripts without blanks."""
SUBJECTS = (
    r"(?:credit|debit|payment|bank)?[ -]?card(?: number)?|(?:kredit|bank)?karte(?:nnummer)?|tarjeta"
    r"|carte(?: bancaire)?|carta(?: di credito)?|cartão|visa|mastercard|amex|iban|konto(?:nummer)?"
    r"|account(?: number)?|cuenta|compte|conto|e-?mail(?: address|-adresse)?|mail|correo|courriel"
    r"|phone(?: number)?|number|mobile|telefon(?:nummer)?|handynummer|nummer|teléfono|número"
    r"|téléphone|numéro|telefono|numero|ip(?: address)?|address|ssn|social security number|key"
    r"|connection|database|url|header|jwt"
)
"""Other subjects of a sentence with a value that may be masked."""
CONJUNCTIONS = "and|but|und|aber|y|pero|et|mais|ma|mas"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOT_IN_PHRASES = _words(
    "the and for are was were has had but not our his her its which their und der die das mit den"
    " von las los que con les des avec che della het een met oraz jest что для"
)
"""Words of sentences that do not occur in any list of seed words."""
EQUALS = _words(
    "is are was be equals reads says ist sind lautet lauten war heißt heisst es son era será sea"
    " est sont était è é sono são it's c'est it\u2019s c\u2019est"
    " luidt waren jest są brzmi brzmią был была это такой"
)
"""Words between a label and its value."""
BECOMES = _words("to as auf zu als a à como comme come para")
"""Words before a value that must look like a secret."""
BACKWARD = EQUALS | _words("as als como comme come for für para pour per")
"""Words between a value and the label that follows it."""
ARTICLES = _words("the der die das el la le il lo")
"""Further words before a value that must look like a secret."""
GOES_ON = _words("it it's its es er sie c'est it\u2019s c\u2019est elle lo")
"""Beginnings of a sentence that continues the previous one about a label."""
FILLERS = _words(
    "now still just actually currently simply exactly only again jetzt nun noch einfach derzeit"
    " wieder ahora todavía simplemente maintenant toujours simplement adesso ora ancora agora"
    " following: folgendes: this: dies: :"
)
"""Words that may stand before a value."""

COMPOUNDS = _words(
    "limit limits count counts budget size length policy policies manager managers reset resets"
    " field fields rotation expiry expiration usage price prices pricing cost costs rate bucket"
    " window file files path page form protection strength requirement requirements generator hint"
    " prompt holder ring rings store storage vault hash hashes hashing format economy santa"
    " service sauce ingredient weapon agent agents garden society ballot recipe type types id"
    " class classes object method function column table line lines box boxes entry screen dialog"
    " board pads pad cushion max min total per"
)
"""Words that turn a label into the name of another thing: "token limit"."""

ORDINARY = _words(
    # English
    "that this these those what when where which with from your yours mine ours theirs some such"
    " also very quite rather pretty really always never often usually sometimes soon already"
    " safe secure insecure strong stronger weak weaker long longer short shorter good better great"
    " best same different here there none null nil true false empty blank optional mandatory"
    " unknown something anything nothing everything easy hard simple gone lost wrong right correct"
    " incorrect valid invalid fine okay important necessary missing part like about between sent"
    " both more less much even under over inside behind kept known shown given taken stolen broken"
    " hidden forgotten written chosen set unset reset required expired secret public private"
    " confidential personal temporary permanent case-sensitive unique random new old too not out"
    " active inactive available unavailable ready default string text number integer boolean str"
    " int bool none bytes object array list char varchar float optional[str] any undefined nan"
    " patience honesty love practice time passion butter simplicity consistency hope trust sleep"
    " kindness preparation timing communication discipline music happiness password passwords"
    " sha-256 nobody"
    " passphrase token tokens secret secrets credential credentials login username user email"
    " probably perhaps maybe almost enough terrible awful ridiculous funny cool nice bad worse"
    " obvious clear visible online offline there's it's their them they then than just only"
    " case sensitive sort kind made up-to-date another one's ours easier harder because unless"
    " until while whether after before during back down into onto"
    # Days, in all languages
    " yesterday today tomorrow tonight gestern heute morgen ayer hoy mañana hier aujourd'hui demain"
    " ieri oggi domani ontem hoje amanhã gisteren vandaag wczoraj dzisiaj dziś jutro вчера сегодня"
    " завтра"
    # German
    " nicht mehr noch immer schon leider falsch richtig abgelaufen gültig ungültig sicher unsicher"
    " stark schwach lang kurz neu alt geheim wichtig nötig notwendig erforderlich bekannt"
    " unbekannt leer gleich anders verloren vergessen gesperrt zurückgesetzt geändert gespeichert"
    " dass eine einer einem einen mein meine dein deine unser sein seine ihre hier dort weg"
    " einfach schwer kompliziert vorhanden geduld liebe zeit ganz sehr viel wenig genug etwas"
    " nichts alles zwischen unter über beim wieder bereits auch aber oder wenn weil"
    # Spanish
    " incorrecta incorrecto correcta correcto segura seguro débil fuerte larga corta nueva nuevo"
    " vieja igual distinta válida válido inválida inválido vacía vacío necesaria necesario"
    " obligatoria secreta secreto privada personal importante paciencia amor tiempo demasiado muy"
    " siempre nunca todavía aquí donde cuando porque pero para como algo nada todo esta este esto"
    " caducada caducado olvidada única escuchar practicar saber tener hacer mantener fácil difícil"
    # French
    " faux fausse incorrect correcte valide invalide expiré oublié perdu trop très toujours jamais"
    " encore ici dans sous avec sans pour mais parce quelque tout rien forte fort faible longue"
    " long court courte nouveau nouvelle ancien même différent différente vide obligatoire"
    " nécessaire secrète importante patience amour temps simple sûr sûre celui celle notre votre"
    " leur bien mieux facile difficile requis"
    # Italian and Portuguese
    " sbagliata sbagliato errata errato corretta corretto valida valido scaduta scaduto sicura"
    " sicuro debole lunga corta nuova nuovo vecchia uguale diversa vuota necessaria obbligatoria"
    " segreta importante pazienza amore tempo troppo molto sempre mai ancora qui dove quando"
    " perché questa questo nella nel tutto niente facile difficile errada errado forte fraca nova"
    " velha muito sempre obrigatória obrigatório necessária necessário segura seguro"
    " curta longa fácil difícil coisa segredo só única diferente vazia obbligatorio necessario"
    " fastidiosa fastidioso"
    # Dutch
    " niet geen nog steeds altijd nooit vaak soms weer hier daar waar wanneer omdat maar want"
    " ook juist onjuist fout goed slecht sterk zwak lang kort nieuw oud zelfde anders leeg"
    " geheim veilig onveilig nodig verplicht onbekend vergeten verloren makkelijk moeilijk"
    " belangrijk geduld alleen iets niets alles heel zeer veel weinig genoeg tussen onder over"
    " voor achter mijn jouw zijn haar onze kwijt hetzelfde optioneel verlopen vergeten"
    " gestolen gekozen geschreven gegeven verborgen gewijzigd veranderd gereset ingesteld"
    " vervelend lastig hoofdlettergevoelig"
    " aangepast opgeslagen bewaard versleuteld gehackt gelekt geblokkeerd verwijderd gedeeld"
    " beschermd"
    # Polish
    " nie jeszcze zawsze nigdy często czasem tutaj tam gdzie kiedy ponieważ ale oraz także"
    " dobrze źle słabe silne długie krótkie nowe stare takie inne puste tajne ważne konieczne"
    " wymagane nieznane łatwe trudne bezpieczne błędne poprawne nieprawidłowe prawidłowe zbyt"
    " bardzo mało dużo coś nic wszystko między moje twoje jego nasze niż tylko tym które która"
    " zmienione ustawione zapomniane zapisane wygasłe usunięte ukryte zgubione skradzione"
    " ujawnione chronione niepoprawne niewłaściwe nieaktualne aktualne silniejsze słabsze"
    " dłuższe krótsze lepsze podstawa podstawą tajemnica tajemnicą obowiązkowe"
    # Russian
    " не нет ещё еще уже всегда никогда часто иногда здесь там где когда потому но или также"
    " очень слишком верный неверный правильный слабый сильный длинный короткий новый старый"
    " другой пустой секретный важно нужен нужна нужно обязателен известен неизвестен просто"
    " сложно хорошо плохо что-то ничего всё все между мой твой его наш только который тот этот"
    " того же такой такая"
)
"""Words that follow a label in ordinary talk, and are never a value."""
ORDINARY_END = (
    r"(?:ed|ing|ly|able|ible|less|ful|ous|ive|est"
    r"|tada|tado|cida|cido|dida|dido|nada|nado|rada|rado|sada|sado|zada|zado|mente"
    r"|lijk|loos|owan[yae]"
    r"|ый|ий|ой|ая|ое|ые|ен|ён|ена|ано|ено|ть|тся|лся|лась|лось"
    r"|é|ée|és|ées|ment|ata|ato|uta|uto|ita|ito|iert|tzt|ndert|chert|ssen|ssert|ert|bar|lich|ig)"
)
"""Endings of participles, adverbs and adjectives."""
