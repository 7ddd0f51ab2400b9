"""The table of forms of each kind of sensitive value, with their checksums (pure).

Sources: the issuers' documents on the prefixes of their keys; RFC 7519 (JWT), RFC 7468 (PEM), RFC
3986 (URLs), ISO/IEC 7812 (cards), ISO 13616 (IBAN).
"""

import ipaddress
import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise, zip_longest
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.kernel.wire.privacy_config import Kind

_CARD_LENGTHS: tuple[tuple[int, int, frozenset[int]], ...] = (
    # (least prefix, greatest prefix, lengths): the ranges published by card networks.
    (4, 4, frozenset({13, 16, 19})),
    (51, 55, frozenset({16})),
    (2221, 2720, frozenset({16})),
    (34, 34, frozenset({15})),
    (37, 37, frozenset({15})),
    (300, 305, frozenset({14, 16, 19})),
    (3095, 3095, frozenset({14, 16, 19})),
    (36, 36, frozenset({14, 16, 19})),
    (38, 39, frozenset({14, 16, 19})),
    (3528, 3589, frozenset({16, 17, 18, 19})),
    (6011, 6011, frozenset({16, 19})),
    (644, 649, frozenset({16, 19})),
    (65, 65, frozenset({16, 19})),
    (62, 62, frozenset({16, 17, 18, 19})),
    (81, 82, frozenset({16})),
    (2200, 2204, frozenset({16, 17, 18, 19})),
    (9792, 9792, frozenset({16})),
    (5018, 5018, frozenset(range(13, 20))),
    (5019, 5020, frozenset(range(13, 20))),
    (5038, 5038, frozenset(range(13, 20))),
    (5893, 5893, frozenset(range(13, 20))),
    (6304, 6304, frozenset(range(13, 20))),
    (6759, 6759, frozenset(range(13, 20))),
    (6761, 6763, frozenset(range(13, 20))),
)
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BI": 27, "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27,
    "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27,
    "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28,
    "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28,
    "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22,
    "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23,
    "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24,
    "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28,
    "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}  # fmt: skip
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_DOUBLES = bytes.maketrans(b"0123456789", b"0246813579")
MIN_CARD_DIGITS = 13


@lru_cache(maxsize=10_000)
def card_lengths(prefix: str) -> frozenset[int]:
    """Return the lengths of the cards that begin with four digits."""
    return frozenset().union(
        *(
            lengths
            for low, high, lengths in _CARD_LENGTHS
            if low <= int(prefix[: len(str(low))]) <= high
        )
    )


def has_luhn(digits: bytes) -> bool:
    """Return True if the Luhn checksum of a number is valid."""
    other = digits[-2::-2].translate(_DOUBLES)
    return (sum(digits[::-2]) + sum(other) - ord("0") * len(digits)) % 10 == 0


class Luhn:
    """The Luhn checksum over any part of a row of digits, in constant time for each part."""

    def __init__(self, digits: bytes) -> None:
        plain = [byte - ord("0") for byte in digits]
        doubled = [_DOUBLED[number] for number in plain]
        # Sums up to each place, with the digits at even, or at odd, places doubled.
        self._sums = tuple(
            [0, *accumulate(chain.from_iterable(zip_longest(first, second, fillvalue=0)))]
            for first, second in (
                (doubled[::2], plain[1::2]),
                (plain[::2], doubled[1::2]),
            )
        )

    def holds(self, start: int, end: int) -> bool:
        """Return True if the checksum of the digits from `start` to `end` is valid."""
        sums = self._sums[end % 2]
        return (sums[end] - sums[start]) % 10 == 0


def iban_length(country: str) -> int | None:
    """Return the length of a country's IBANs; None for a country without IBANs."""
    return _IBAN_LENGTHS.get(country.upper())


def is_iban(text: str) -> bool:
    """Return True for an IBAN without blanks, by the length for its country and mod 97."""
    if iban_length(text[:2]) != len(text) or not (text.isascii() and text.isalnum()):
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def is_json_object(part: str) -> bool:
    """Return True if the first part of a token is a JSON object in base64, as in a JWT."""
    try:
        head = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(head, dict)


def is_public_address(text: str) -> bool:
    """Return True for an IP address that is neither private nor reserved for documentation."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return address.is_global and not address.is_multicast


def is_ssn(digits: str) -> bool:
    """Return True for nine digits in the ranges of US social security numbers."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"


Span = tuple[int, int]
"""Begin and end of a value, in bytes of UTF-8."""


@dataclass(frozen=True)
class Form:
    """A form of values.

    Attributes:
        expression: the pattern, in RE2's syntax.
        spans: returns the values in a match; none for a look-alike.
        sign: bytes in every match. They are searched first, which is far faster.
    """

    expression: bytes
    spans: Callable[[Any], Iterable[Span]]
    sign: bytes = b""

    @cached_property
    def pattern(self) -> Any:  # noqa: ANN401 - RE2 has no types
        """The compiled pattern for bytes, made on first use: the one for addresses takes 14 MB."""
        options = re2.Options()
        options.log_errors = False
        options.max_mem = 64 * 1024 * 1024
        return re2.compile(self.expression, options)


def _form(pattern: str, spans: Callable[[Any], Iterable[Span]], sign: str = "") -> Form:
    return Form(pattern.encode(), spans, sign.encode())


def _value(match: Any) -> Iterable[Span]:  # noqa: ANN401 - RE2 has no types
    yield match.span(1 if match.re.groups else 0)


def _unless_named(match: Any) -> Iterable[Span]:  # noqa: ANN401
    """Return a password, unless it is a placeholder, as in documentation."""
    if match.group(1).lower() not in {b"password", b"passwd", b"pass", b"pwd", b"secret"}:
        yield match.span(1)


def _authorization(match: Any) -> Iterable[Span]:  # noqa: ANN401
    if match.start(1) >= 0:
        yield match.span(1)
    elif any(48 <= byte <= 57 for byte in match.group(2)):
        yield match.span(2)


def _with_digit(match: Any) -> Iterable[Span]:  # noqa: ANN401
    """Return a token that differs from a word: it has a digit, or mixes upper and lower case."""
    token = match.group(1)
    if any(48 <= byte <= 57 for byte in token) or token[3:].lower() != token[3:] != token.upper():
        yield match.span(1)


_PREFIXES = (
    # Amazon Web Services, its Bedrock
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12}", r"ABSK[A-Za-z0-9+/]{30}",
    # Google Cloud: API keys, client secrets, access and refresh tokens
    r"AIza[A-Za-z0-9_-]{30}", r"GOCSPX-[A-Za-z0-9_-]{16}", r"ya29\.[A-Za-z0-9_-]{16}",
    r"1//0[A-Za-z0-9_-]{20}",
    # GitHub, GitLab
    r"gh[pousr]_[A-Za-z0-9]{16}", r"github_pat_[A-Za-z0-9_]{16}",
    r"gl(?:pat|ptt|dt|rt|rtr|cbt|ft|imt|agent|soat|ffct|oas|wt)-[A-Za-z0-9_-]{16}",
    r"GR1348941[A-Za-z0-9_-]{16}",
    # Slack, Stripe
    r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10}", r"x(?:app|wfp)-[A-Za-z0-9-]{10}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8}", r"whsec_[A-Za-z0-9+/]{16}",
    # npm, PyPI, Hugging Face, SendGrid, Twilio, Telegram
    r"npm_[A-Za-z0-9]{20}", r"pypi-[A-Za-z0-9_-]{20}", r"hf_[A-Za-z0-9]{20}",
    r"api_org_[A-Za-z0-9]{20}", r"SG\.[A-Za-z0-9_-]{16}", r"(?:SK|AC)[0-9a-fA-F]{32}",
    r"(?:bot)?[0-9]{6,12}:[A-Za-z0-9_-]{32}",
    # this service
    r"omb_[A-Za-z0-9]{16}",
    # Other issuers that document their prefixes
    r"do[opr]_v1_[0-9a-f]{32}", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16}", r"dapi[0-9a-f]{32}",
    r"hv[sbr]\.[A-Za-z0-9_-]{20}", r"glsa_[A-Za-z0-9_]{20}", r"glc_[A-Za-z0-9+/=]{20}",
    r"gsk_[A-Za-z0-9]{20}", r"xai-[A-Za-z0-9]{20}", r"pplx-[A-Za-z0-9]{20}",
    r"r8_[A-Za-z0-9]{20}", r"tvly-[A-Za-z0-9-]{16}", r"pcsk_[A-Za-z0-9_]{20}",
    r"lin_api_[A-Za-z0-9]{20}", r"ntn_[A-Za-z0-9]{20}", r"dckr_pat_[A-Za-z0-9_-]{16}",
    r"figd_[A-Za-z0-9_-]{20}", r"NRAK-[A-Z0-9]{20}", r"ATATT3[A-Za-z0-9_=-]{20}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{20}", r"lsv2_(?:pt|sk)_[0-9a-f]{20}", r"sbp_[0-9a-f]{20}",
    r"rubygems_[0-9a-f]{20}", r"PMAK-[0-9a-f]{20}",
)  # fmt: skip
_WORD = r"(?:^|[^A-Za-z0-9])"
# Azure's client secrets, and the tokens of Azure DevOps. They begin with any characters. In a text
# of base64, searching for them together with the others takes a hundred times as long.
_AZURE = r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31}"
_DEV_OPS = r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"


def _issued(prefix: str) -> str:
    return rf"{_WORD}((?:{prefix})(?:[A-Za-z0-9_~.+/=-]*[A-Za-z0-9_+/=-])?)"


# Keys of OpenAI, Anthropic and others with the same form.
_SK = rf"{_WORD}(sk-[A-Za-z0-9_-]{{7,}}[A-Za-z0-9])"
_PEM = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-[^-])*-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:\\[nrt]|\s|[A-Za-z0-9+/=]{16,})*)"
)
_JWT = r"(?:^|[^A-Za-z0-9_-])((e[yw][A-Za-z0-9_-]{6,})(?:\.[A-Za-z0-9_-]*){2,4})"
_USER_INFO = r"(?i)[a-z][a-z0-9+.-]{1,30}://[^\s/:@?#\"'<>]*:([^\s/\"'<>]*[^\s/@\"'<>])@[^\s/]"
_AUTHORIZATION = (
    r"(?i)authorization\\*[\"'*]*\s*[:=]\s*\\*[\"'*]*"
    r"(?:(?:basic|bearer|token|digest|negotiate|ntlm|api-?key|hmac|aws4-hmac-sha256)\s+"
    r"([^\s\"'\\,;<>${][^\s\"'\\,;<>]{5,}(?:,\s*[a-z_-]+=(?:\\*\"[^\"]*\"|[^\s,\"'\\]+))*)"
    r"|([^\s\"'\\,;<>]{8,}))"
)
_BEARER = r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{15,}[A-Za-z0-9_~+/=-])"
_PARAMETERS = (
    r"(?i)\b(?:AccountKey|SharedAccessKey|SharedSecret|sig|signature|x-amz-signature"
    r"|x-goog-signature|x-amz-security-token)=([A-Za-z0-9+/%_.~-]{16,}=*)"
)
_WEBHOOK = r"https://hooks\.slack\.com/[a-z]+/([A-Za-z0-9_/-]{8,})"

_COMMANDS = r"curl|wget|https?|aria2c|mysql(?:dump|admin)?|mariadb|psql|mongo(?:sh|dump)?|redis-cli"
_LINE = r"(?:[^\n\\]|\\[^\n]|\\\r?\n)*?\s"
"""The part of a line between a command and an argument; a backslash continues the line."""
_COMMAND_USER = (
    rf"\b(?:curl|https?|aria2c)\b{_LINE}(?:-u|-U|-a|--user|--proxy-user|--auth)[ =]?[\"']?"
    r"[^\s:\"'$<{]+:([^\s\"'$<{][^\s\"']{2,})"
)
_COMMAND_PASSWORD = (
    rf"\b(?:(?:{_COMMANDS}){_LINE}--(?:[a-z]+-)?pass(?:word|wd)?[ =]"
    rf"|sshpass\s+-p|redis-cli{_LINE}-a\s|(?:mysql(?:dump|admin)?|mariadb){_LINE}-p"
    rf"|(?:docker|podman) login{_LINE}-p\s)\s*[\"']?([^\s\"'$<{{-][^\s\"']{{2,}})"
)
_NETWORK = r"WIFI:(?:[^\n;]*;)*?P:((?:[^;\n\\]|\\[^\n])+)"
_AWS_CHARS = 40
_AWS_RUN = rf"[A-Za-z0-9/+]{{{_AWS_CHARS},}}"
_CLASSES = re.sub(
    rb"[0-9]", b"0", re.sub(rb"[A-Z]", b"A", re.sub(rb"[a-z]", b"a", bytes(range(256))))
)
"""A table that maps each letter and digit to the first character of its class."""
_AWS_LEAST_CHANGES = 14
"""Least number of class changes in a key: 24 of 39 are usual in a key, 9 in a path."""

_GAP = r"[ \t\r\n-]{0,3}"
_BESIDE = r"(?:^|[^\pL0-9_.]|[\p{Han}\p{Hiragana}\p{Katakana}]|[^0-9][.])"
_DIGITS = rf"{_BESIDE}([0-9](?:{_GAP}[0-9]){{{MIN_CARD_DIGITS - 1},}})"
_GROUPS = (
    r"(?:^|[^\pL0-9]|[\p{Han}\p{Hiragana}\p{Katakana}])"
    r"([0-9]{4,8}(?:[^\pL\pN\n]{1,4}[0-9]{1,8})+)"
)
_SPREAD = (
    r"(?:^|[^\pL0-9]|[\p{Han}\p{Hiragana}\p{Katakana}])"
    r"([0-9]{1,2}(?:[^\pL\pN\s,;:][0-9]{1,2}){6,})"
)
# Cards in groups as printed, with any separators: four groups of four digits, or fewer in the last;
# two groups of eight; the groups of American Express and Diners Club.
_PRINTED = re.compile(
    rb"(?<![0-9])(?=("
    rb"[0-9]{4}([^0-9\n]{1,4})[0-9]{4}([^0-9\n]{1,4})[0-9]{4}([^0-9\n]{1,4})[0-9]{1,4}"
    rb"(?:[^0-9\n]{1,4}[0-9]{3})?|[0-9]{4}([^0-9\n]{1,4})[0-9]{6}([^0-9\n]{1,4})[0-9]{4,5}"
    rb"|[0-9]{8}([^0-9\n]{1,4})[0-9]{8})(?![0-9]))"
)
_LIST = re.compile(rb"[,;:]\s")
_GROUP = re.compile(rb"[0-9]+")
_ALNUM = re.compile(rb"[0-9A-Za-z]")
_IBAN_RUN = re.compile(rb"[ -~\t\n]+")


def _cards(match: Any) -> Iterable[Span]:  # noqa: ANN401
    """Return the cards among groups of digits, which may include other numbers."""
    data, first = match.group(1), match.start(1)
    # Beginning and end of each group in the text, by its place among the digits alone.
    begins, ends, count = {}, {}, 0
    for group in _GROUP.finditer(data):
        begins[count] = group.start()
        count += len(group[0])
        ends[count] = group.end()
    if match.string[match.end() : match.end() + 1].isalpha():
        # The last group is not a number: "4111 1111 1111 1111 3rd".
        ends.pop(count, None)
    digits = b"".join(_GROUP.findall(data))
    luhn, free = Luhn(digits), 0
    for start, begin in begins.items():
        if start >= free:
            lengths = card_lengths(digits[start : start + 4].decode())
            fitting = [n for n in lengths if start + n in ends and luhn.holds(start, start + n)]
            if fitting:
                free = start + max(fitting)
                yield first + begin, first + ends[free]


def _printed_cards(match: Any) -> Iterable[Span]:  # noqa: ANN401
    """Return the cards among groups of digits with any separators, but not lists of numbers."""
    data, first, free = match.group(1), match.start(1), 0
    for card in _PRINTED.finditer(data):
        if card.start() < free or any(_LIST.match(gap) for gap in card.groups()[1:] if gap):
            continue
        digits = b"".join(_GROUP.findall(card[1]))
        lengths = card_lengths(digits[:4].decode())
        if len(digits) in lengths and has_luhn(digits):
            free = card.end(1)
            yield first + card.start(1), first + free


def _spread_card(match: Any) -> Iterable[Span]:  # noqa: ANN401
    """Return a card with each digit, or each pair of digits, separated in the same way."""
    groups, gaps = _GROUP.findall(match.group(1)), set(_GROUP.split(match.group(1))[1:-1])
    digits = b"".join(groups)
    lengths = card_lengths(digits[:4].decode())
    is_even = len({len(group) for group in groups}) == len(gaps) == 1
    if is_even and len(digits) in lengths and has_luhn(digits):
        yield match.span(1)


def _aws_key(match: Any) -> Iterable[Span]:  # noqa: ANN401
    """Return an AWS secret key: of the right length, with mixed characters of all classes."""
    start, end = match.span()
    if end - start != _AWS_CHARS:
        return
    before, after = match.string[max(0, start - 1) : start], match.string[end : end + 1]
    classes = match[0].translate(_CLASSES)
    changes = sum(one != other for one, other in pairwise(classes))
    is_part = before in {b"_", b".", b"-"} or after in {b"_", b"=", b"-"}
    if not is_part and set(b"aA0") <= set(classes) and changes >= _AWS_LEAST_CHANGES:
        yield start, end


def _token(match: Any) -> Iterable[Span]:  # noqa: ANN401
    if is_json_object(match.group(2).decode()):
        yield match.span(1)


def _iban(match: Any) -> Iterable[Span]:  # noqa: ANN401
    begin, data = match.start(1), match.string
    length = iban_length(match.group(1)[:2].decode())
    if length is None:
        return
    run = _IBAN_RUN.match(data, begin, begin + 4 * length)
    ends = [char.end() for char in _ALNUM.finditer(run[0])] if run is not None else []
    if run is None or len(ends) < length:
        return
    text = b"".join(_ALNUM.findall(run[0][: ends[length - 1]])).decode()
    end = begin + ends[length - 1]
    if is_iban(text) and not data[end : end + 1].isalnum():
        yield begin, end


def _address(match: Any) -> Iterable[Span]:  # noqa: ANN401
    if is_public_address(match.group(1).decode()):
        yield match.span(1)


def _phone(match: Any) -> Iterable[Span]:  # noqa: ANN401
    digits = sum(48 <= byte <= 57 for byte in match.group(1))
    least = 8 if match.group(1).startswith(b"+") else 6
    if least <= digits <= 15:
        yield match.span(1)


def _ssn(match: Any) -> Iterable[Span]:  # noqa: ANN401
    if is_ssn("".join(char for char in match.group(1).decode() if char.isdigit())):
        yield match.span(1)


_NUMBER = r"\(?[0-9](?:[ ./()-]{0,3}[0-9]){5,16}"
_PHONE_LABEL = (
    r"phone|mobile|cell(?:phone)?|tel|telephone|whatsapp|sms|fax|call me|text me|reach me"
    r"|telefon(?:nummer)?|handy(?:nummer)?|mobilnummer|rufnummer|ruf mich|erreichst du mich"
    r"|teléfono|telefono|móvil|celular|llámame|téléphone|portable|appelle[z-]*(?:-moi)?"
    r"|cellulare|chiamami|telefone|telemóvel"
)
_SSN = r"[0-9]{3}[ ./_-]?[0-9]{2}[ ./_-]?[0-9]{4}"
_SSN_LABEL = r"\bssn\b|social[ -]security"
FORMS: Mapping[Kind, Sequence[Form]] = {
    Kind.CREDENTIAL: (
        _form(_issued("|".join(_PREFIXES)), _value),
        _form(_issued(_AZURE), _value, "Q~"),
        _form(_issued(_DEV_OPS), _value, "AZDO"),
        _form(_SK, _with_digit, "sk-"),
        _form(_PEM, _value),
        _form(_JWT, _token),
        _form(_USER_INFO, _unless_named, "://"),
        _form(_AUTHORIZATION, _authorization),
        _form(_BEARER, _with_digit),
        _form(_PARAMETERS, _value, "="),
        _form(_WEBHOOK, _value),
        _form(_COMMAND_USER, _unless_named, " -"),
        _form(_COMMAND_PASSWORD, _unless_named, " -"),
        _form(_NETWORK, _value, "WIFI:"),
        _form(_AWS_RUN, _aws_key),
    ),
    Kind.PAYMENT_CARD: (_form(_DIGITS, _cards), _form(_GROUPS, _printed_cards),
                        _form(_SPREAD, _spread_card)),
    Kind.IBAN: (_form(r"\b([A-Za-z]{2}[0-9]{2}[^\pL\pN]{0,3}[A-Za-z0-9]{2})", _iban),),
    Kind.EMAIL: (
        _form(
            r"([\pL\pN._%+'-]{0,63}[\pL\pN_%+-]@(?:[\pL\pN-]{1,63}\.)+[\pL\pN-]*[\pL\pN])",
            _value,
            "@",
        ),
    ),
    Kind.PHONE: (
        _form(r"(?:^|[^\pL\pN])((?:\+|\b00)[1-9](?:[ ./()-]{0,3}[0-9]){7,14})", _phone),
        _form(rf"(?i)(?:{_PHONE_LABEL})[^0-9+\n]{{0,40}}({_NUMBER})", _phone),
    ),
    Kind.IP_ADDRESS: (
        _form(r"(?:^|[^0-9A-Za-z.])([0-9]{1,3}(?:\.[0-9]{1,3}){3})(?:$|[^0-9A-Za-z.]|\.(?:$|\s))",
              _address),
        _form(r"(?i)(?:^|[^0-9a-z:.])([0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})", _address),
    ),
    Kind.NATIONAL_ID: (
        _form(rf"(?i)(?:{_SSN_LABEL})[^0-9\n]{{0,60}}\b({_SSN})\b", _ssn),
        _form(rf"(?i)\b({_SSN})\b[^0-9\n]{{0,40}}(?:{_SSN_LABEL})", _ssn),
    ),
}  # fmt: skip
"""The forms of each kind; `labels` has the forms announced by labels."""
