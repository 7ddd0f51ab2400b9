"""Values announced by a label: "my password is ...", `API_KEY=...` (pure).

English, German, Spanish and French, which the rules read, with Italian, Portuguese, Dutch, Polish
and Russian; a few Chinese and Japanese words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.language.phrases import any_case
from app.language.privacy.folding import copy_of

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


_BEHIND_BYTES, _BEFORE_BYTES = 600, 100
_MAX_WORDS, _MAX_WORDS_BEFORE = 8, 4
_MAX_FILLERS = 2
_LEAST_CHARS, _LEAST_DIGITS, _LEAST_OPAQUE = 4, 3, 6

LABEL = re2.compile(
    rf"(?i)(?P<wordy>{WORDY})|(?:^|[^\pL\pN]|[a-z]_)(?P<numeric>{NUMERIC})(?:[^\pL]|$)"
    rf"|(?:^|[^\pL\pN])(?P<opaque>{OPAQUE})".encode()
)
# The groups of `LABEL`, by position: access by name is slower.
_QUOTES = "\"'`\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019"
_NOISE = rf"[\s{_QUOTES}*_\\)\]|]*"
_ADJACENT = any_case(
    rf"(?:[_-][a-z0-9]{{1,16}}){{0,3}}{_NOISE}(?::=|=>|->|→|[:=|]|>(?!=)|\s[-\u2013\u2014](?=\s))[*_]*\s*"
)
_SUFFIX = any_case(r"(?:[_-][a-z0-9]{1,16}){1,3}")
_OPENED = re.compile(r"\\*([\"'`\u201c\u201e\u00ab\u2018]|\*\*)")
_CLOSING = {
    "\u201c": '\u201d\u201c"',
    "\u201e": "\u201c\u201d",
    "\u00ab": "\u00bb",
    "\u2018": "\u2019",
    "**": "*",
}
_WORD = re.compile(r"\S+")
_BARE = f" \t\r\n{_QUOTES}*_\\()[]{{}},;|"
_END = re.compile(rf"[.,;:!?…)\]}}{_QUOTES}*\\|<>]+$")
_PLACEHOLDER = re.compile(
    r"<.*|\$?\{.*|\$[A-Z_]+|%[A-Za-z_]+%?|[*•xX.…_#?-]+|\[.*|your[_-].*|https?://.*|//.*"
    r"|[A-Za-z_.][\w.]*\([^)]*\).*|\w+(?:\.\w+)+\(.*|\w+\(\w*=.*|[A-Za-z_][\w.]*\[.*|(?:os|process|self|config|settings)\..*",
    re.IGNORECASE | re.DOTALL,
)
_ORDINARY_END = re.compile(rf".*{ORDINARY_END}", re.IGNORECASE | re.DOTALL)
_DIGIT = re.compile(rb"[0-9]")
_POLISH = ("hasło".encode(), b"haslo")
_CODE = re.compile(r"[=(]|://")
_NAME = re.compile(r"[A-Za-z]+(?:_[A-Za-z]+)+")
_GROUPED = re.compile(r"[0-9](?:[ -]?[0-9]){2,11}(?![\w/.-]*\w)")
_JOINED = re.compile(r"[-'\u2019\s]+")
_BINDS = "是|为|為|就是|设为|設為|改为|改為|は|が|を|:|=|->|→"
_UNSPACED = re2.compile(f"({UNSPACED_WORDY})|{UNSPACED_NUMERIC}".encode())
_UNSPACED_BEHIND = re.compile(rf"[\s」』\"']*((?:{_BINDS}|\s)*)([「『“\"'`])?([!-~]+)")
_UNSPACED_BEFORE = re.compile(r"([!-~]*[0-9][!-~]*)\s*[」』”]?(?:是|为|為|が|は)[^\W\d_]{0,6}$")
_UNSPACED_BEHIND_BYTES, _UNSPACED_BEFORE_BYTES = 300, 100


class Class(Enum):
    """Classes of values, by their label."""

    WORDY = auto()
    NUMERIC = auto()
    OPAQUE = auto()


class Bond(Enum):
    """Links between a value and its label."""

    SIGN = auto()
    """A colon or similar."""
    VERB = auto()
    LOOSE = auto()
    """No link, or a word that need not introduce a value."""


@dataclass(frozen=True)
class Value:
    """A text at the expected place of a label's value, with its position in a window."""

    text: str
    start: int
    quoted: bool = False


_CLASSES = tuple(enumerate(Class, start=1))


def labelled(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans, in bytes, of the values announced by labels."""
    at = 0
    while (match := LABEL.search(data, at)) is not None:
        (start, end), of = next(
            (match.span(group), of) for group, of in _CLASSES if match.start(group) >= 0
        )
        span = _behind(data, start, end, of) or _before(data, start, end)
        if span is not None:
            yield span
        at = max(end, span[1] if span is not None else end)


def unspaced(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans, in bytes, of ASCII values next to labels."""
    if data.isascii():
        return
    for match in _UNSPACED.finditer(data):
        of = Class.NUMERIC if match.start(1) < 0 else Class.WORDY
        span = _unspaced_behind(data, match.end(), of) or _unspaced_before(data, match.start())
        if span is not None:
            yield span


def is_label(text: str) -> bool:
    """Return True if a text contains a label, as the key of a value may."""
    copy = copy_of(text)
    searched = text if copy is None else copy.text
    return LABEL.search(searched.encode(errors="surrogatepass")) is not None


def _behind(data: bytes, start: int, end: int, of: Class) -> tuple[int, int] | None:
    window = data[end : end + _BEHIND_BYTES].decode(errors="ignore")
    if window[:1].isalpha():
        return None
    if data[start:end].lower().startswith(_POLISH):
        # "Hasło to" means "the password is"; the English word need not introduce a value.
        window = window.replace(" to ", " is ", 1)
    value = _value_behind(window, of)
    if value is None:
        return None
    start = end + len(window[: value.start].encode())
    return start, start + len(value.text.encode())


def _value_behind(window: str, of: Class) -> Value | None:
    """Return the value that follows a label, if any."""
    adjacent = _ADJACENT.match(window)
    if adjacent is not None:
        parts = {part.casefold() for part in re.split(r"[\W_]+", adjacent[0]) if part}
        if parts & COMPOUNDS:
            return None
        bond = Bond.SIGN if re.search("[:=]", adjacent[0]) else Bond.VERB
        value = _value_at(window, adjacent.end(), of, bond)
        if value is not None or adjacent[0].strip(_BARE) not in {":", ""}:
            return value
    elif _SUFFIX.match(window):
        return None
    return _value_after_words(window, of)


def _value_after_words(window: str, of: Class) -> Value | None:
    words = list(islice(_WORD.finditer(window), _MAX_WORDS + _MAX_FILLERS))
    if window[:1].strip() and not words[0][0].strip(_BARE + "s:"):
        words = words[1:]
    if (
        words
        and not window.startswith(",")
        and (value := _value_at(window, words[0].start(), of, Bond.LOOSE))
    ):
        return value
    is_far = False
    for position, word in enumerate(words[:_MAX_WORDS]):
        bare = word[0].strip(_BARE + ":=").casefold()
        if bare in COMPOUNDS:
            return None
        is_far = is_far or position > _MAX_WORDS_BEFORE
        bond = _bond(bare, word[0], is_far=is_far)
        if bond is not None and (value := _after(window, words[position + 1 :], of, bond)):
            return value
        if bare.endswith((".", "!", "?", "…")):
            following = words[position + 1][0].casefold() if position + 1 < len(words) else ""
            if following not in GOES_ON:
                return None
            is_far = True
    return None


def _bond(bare: str, word: str, *, is_far: bool) -> Bond | None:
    """Return the link of a word to the next value; distant values must look like secrets."""
    is_sign = word.endswith((":", "=", "->", "=>", "→"))
    if is_sign or bare in EQUALS:
        return Bond.LOOSE if is_far else Bond.VERB
    return Bond.LOOSE if bare in BECOMES else None


def _after(window: str, words: list[re.Match[str]], of: Class, bond: Bond) -> Value | None:
    for word in words[: _MAX_FILLERS + 1]:
        if word[0] in {"=", ":", "->", "=>", "→"}:
            bond = Bond.SIGN
        elif word[0].casefold() in ARTICLES:
            bond = Bond.LOOSE
        elif word[0].casefold() not in FILLERS:
            return _value_at(window, word.start(), of, bond)
    return None


def _value_at(window: str, at: int, of: Class, bond: Bond) -> Value | None:
    at += len(window[at:]) - len(window[at:].lstrip())
    opened = _OPENED.match(window, at)
    value = _bare(window, at, of) if opened is None else _quoted(window, opened)
    rest = window[value.start + len(value.text) :].partition("\n")[0]
    if bond is Bond.SIGN and of is Class.OPAQUE and not value.quoted and rest.strip(_BARE + ".!?"):
        # A word with further words behind it belongs to a sentence.
        bond = Bond.VERB
    return value if _looks(value, of, bond) else None


def _quoted(window: str, opened: re.Match[str]) -> Value:
    start, closing = opened.end(), _CLOSING.get(opened[1], opened[1]) + "\n"
    end = next((n for n in range(start, len(window)) if window[n] in closing), len(window))
    return Value(window[start:end].rstrip("\\"), start, quoted=True)


def _bare(window: str, at: int, of: Class) -> Value:
    # A number may be written in groups.
    groups = _GROUPED.match(window, at) if of is Class.NUMERIC else None
    token = groups or _WORD.match(window, at)
    text = token[0] if token is not None else ""
    if window[max(0, at - 1) : at] == ">":
        text = text.partition("<")[0]
    opened = len(text) - len(text.lstrip("(["))
    return Value(_END.sub("", text[opened:]), at + opened)


def _looks(value: Value, of: Class, bond: Bond) -> bool:
    """Return True if a value fits the class of its label; a looser link requires stronger signs."""
    text = value.text
    digits = sum(char.isdigit() for char in text)
    if digits >= _LEAST_DIGITS and _GROUPED.fullmatch(text):
        digits = len(text)
    least = _LEAST_DIGITS if digits == len(text) else _LEAST_CHARS
    if len(text) < least or _PLACEHOLDER.fullmatch(text) or text.casefold() in ORDINARY:
        return False
    if digits == len(text):
        return _may_be_number(digits, of, bond)
    if of is Class.NUMERIC or _is_word(text):
        may_be = digits >= _LEAST_DIGITS if of is Class.NUMERIC else _may_be_word(value, of, bond)
        return may_be and bond is not Bond.LOOSE
    refused = _CODE.search(text) if bond is Bond.LOOSE else of is Class.OPAQUE and _is_name(text)
    return not refused and (bool(digits) or bond is not Bond.LOOSE)


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _may_be_number(digits: int, of: Class, bond: Bond) -> bool:
    if of is Class.OPAQUE:
        return digits >= _LEAST_OPAQUE and bond is not Bond.LOOSE
    return of is Class.NUMERIC or digits >= _LEAST_CHARS


def _is_word(text: str) -> bool:
    """Return True for a word of ordinary talk, "Case-sensitive" included."""
    parts = _JOINED.split(text)
    mixed = any(part[1:].lower() != part[1:] and not part.isupper() for part in parts)
    return all(part.isalpha() for part in parts) and not mixed


def _may_be_word(value: Value, of: Class, bond: Bond) -> bool:
    parts = [part.casefold() for part in _JOINED.split(value.text)]
    if value.quoted:
        return len(parts) == 1 or of is Class.WORDY
    ordinary = [part in ORDINARY or _ORDINARY_END.fullmatch(part) is not None for part in parts]
    if all(ordinary) or (any(ordinary) and bond is not Bond.SIGN):
        return False
    return of is Class.WORDY or bond is Bond.SIGN


def _before(data: bytes, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of a value before its label: "... is my PIN"."""
    before = data[max(0, start - _BEFORE_BYTES) : start]
    # Most labels have no value before them, and a value in that place has a digit.
    if data[end : end + 1].isalpha() or _DIGIT.search(before) is None:
        return None
    following = data[end : end + 64].decode(errors="ignore").split()
    if following and following[0].strip(_BARE).casefold() in COMPOUNDS:
        return None
    window = before.decode(errors="ignore")
    words = window.rsplit(maxsplit=_MAX_WORDS_BEFORE)
    for position in range(len(words) - 1, 0, -1):
        if words[position].casefold() in BACKWARD:
            # The first item holds all words before the others.
            word = words[position - 1].rsplit(maxsplit=1)[-1].lstrip(_BARE)
            text = _END.sub("", word)
            if not _is_opaque(text):
                return None
            behind = window[window.rindex(words[position]) :]
            begin = window.rindex(word, 0, len(window) - len(behind))
            begin = start - len(window[begin:].encode())
            return begin, begin + len(text.encode())
    return None


def _is_opaque(text: str) -> bool:
    digits = sum(char.isdigit() for char in text)
    return bool(digits) and len(text) >= _LEAST_CHARS and not _PLACEHOLDER.fullmatch(text)


def _unspaced_behind(data: bytes, end: int, of: Class) -> tuple[int, int] | None:
    window = data[end : end + _UNSPACED_BEHIND_BYTES].decode(errors="ignore")
    match = _UNSPACED_BEHIND.match(window)
    if match is None:
        return None
    bond = Bond.SIGN if match[1].strip() else Bond.LOOSE
    text = _END.sub("", match[3])
    if not _looks(Value(text, 0, quoted=match[2] is not None), of, bond):
        return None
    start = end + len(window[: match.start(3)].encode())
    return start, start + len(text)


def _unspaced_before(data: bytes, start: int) -> tuple[int, int] | None:
    window = data[max(0, start - _UNSPACED_BEFORE_BYTES) : start].decode(errors="ignore")
    match = _UNSPACED_BEFORE.search(window)
    if match is None or len(match[1]) < _LEAST_CHARS:
        return None
    begin = start - len(window[match.start(1) :].encode())
    return begin, begin + len(match[1])
