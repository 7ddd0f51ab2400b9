"""Values and labels that are written so that a plain comparison misses them. All are made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.language.privacy.folding import copy_of
from app.language.privacy.labels import is_label
from app.language.privacy.walk import mask
from tests.support.planted import DEFAULTS, LANGUAGES

GROUPS = ("4111", "1111", "1111", "1111")
INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u2060\u2063\ufe0f\ufeff\U000e0101"
ZEROS = (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50, 0xFF10, 0x1D7CE, 0x1D7F6)
"""Arabic, Persian, Devanagari, Bengali, Thai, full width, mathematical bold and monospace."""
UNBOUND = "пароль от почты ZimaLeto77"
"""No word and no sign binds this value to its label."""


def masked(text: str) -> str:
    return mask(text, DEFAULTS)[0]


def test_no_value_in_disguise_is_left_in_any_language() -> None:
    planted = [one for one in LANGUAGES if one["kind"] is not None]
    texts = [(one["text"].replace("{}", "".join(one["value"])), one) for one in planted]
    left = [
        text
        for text, one in texts
        if not (found := mask(text, DEFAULTS))[1][one["kind"]]
        or any(part.strip(" ,\n") in found[0] for part in one["value"])
    ]
    assert (len(planted), left) == (60, [UNBOUND])


@pytest.mark.parametrize(
    "gap", [*"./_,*|:·•~+ \u2003\u3000‐‑–—−", " . ", ")(", ") (", "", "\n", "  "]
)
def test_cards_are_found_whatever_stands_between_their_groups(gap: str) -> None:
    card = gap.join(GROUPS)
    assert masked(f"Pay {card} today") == "Pay [PAYMENT_CARD] today"
    assert masked(f"Pay 3782{gap}822463{gap}10005.") == "Pay [PAYMENT_CARD]."
    # Luhn's checksum is wrong.
    wrong = gap.join([*GROUPS[:3], "1112"])
    assert masked(f"Pay {wrong} today") == f"Pay {wrong} today"


@pytest.mark.parametrize("size", [1, 2])
def test_cards_are_found_digit_by_digit(size: int) -> None:
    groups = ["4111111111111111"[at : at + size] for at in range(0, 16, size)]
    for gap in "./_*|-":
        assert masked(f"Pay {gap.join(groups)} now") == "Pay [PAYMENT_CARD] now"
    assert masked("OID 1.3.6.1.4.1.311.21.20") == "OID 1.3.6.1.4.1.311.21.20"


@pytest.mark.parametrize("zero", ZEROS)
def test_digits_of_every_script_count(zero: int) -> None:
    digits = str.maketrans({str(n): chr(zero + n) for n in range(10)})
    for text, expected in {
        f"карта {' '.join(GROUPS)} да": "карта [PAYMENT_CARD] да",
        "PIN: 4812.": "PIN: [CREDENTIAL].",
    }.items():
        assert masked(text.translate(digits)) == expected


@pytest.mark.parametrize("sign", INVISIBLE)
def test_invisible_characters_hide_no_value_and_no_label(sign: str) -> None:
    for text, expected in {
        f"Pay {sign.join('4111111111111111')} now": "Pay [PAYMENT_CARD] now",
        f"pass{sign}word: swordfish-99, ok": f"pass{sign}word: [CREDENTIAL], ok",
        f"key sk{sign}-proj-uiNeGwdEcAdfzYgnM7Iy ok": "key [CREDENTIAL] ok",
        f"password{sign}hunter22 ok": "password[CREDENTIAL] ok",
        f"My PIN is{sign} 48{sign}12": f"My PIN is{sign} [CREDENTIAL]",
    }.items():
        assert masked(text) == expected


def test_look_alikes_are_folded_in_words_that_mix_scripts_alone() -> None:
    for text, expected in {
        "My pаsswоrd is kestrel-41": "My pаsswоrd is [CREDENTIAL]",
        "My ρassword is kestrel-41": "My ρassword is [CREDENTIAL]",
        "ｐａｓｓｗｏｒｄ：hunter2": "ｐａｓｓｗｏｒｄ：[CREDENTIAL]",
        "p\u0336a\u0336s\u0336s\u0336w\u0336o\u0336r\u0336d: hunter2": (
            "p\u0336a\u0336s\u0336s\u0336w\u0336o\u0336r\u0336d: [CREDENTIAL]"
        ),
        "contrasen\u0303a: lobo-gris": "contrasen\u0303a: [CREDENTIAL]",
        # Words of one script, which nothing may turn into labels.
        "Рыба, рис и сахар": None,
        "рин 4812": None,
        "Η απόσταση είναι 4812": None,
    }.items():
        assert masked(text) == (expected or text)
    assert is_label("pаssword")
    assert not is_label("рин")


def test_a_character_that_stands_for_several_is_masked_as_a_whole() -> None:
    """The copy has "kg" and "(12)" there; what is beside a value stays as it is."""
    assert masked("PIN: 48⑫ ㎏") == "PIN: [CREDENTIAL] ㎏"
    assert masked("½ PIN: ４８１２½, ½") == "½ PIN: [CREDENTIAL], ½"
    assert (
        masked("e\u0301 PIN: 4812 e\u0301\u200b ①") == "e\u0301 PIN: [CREDENTIAL] e\u0301\u200b ①"
    )


@given(
    st.sampled_from([one for one in LANGUAGES if one["kind"] == "PAYMENT_CARD"]),
    st.lists(st.sampled_from(INVISIBLE), min_size=1, max_size=4),
    st.data(),
)
def test_a_card_is_found_wherever_invisible_characters_stand(
    planted: dict[str, str], signs: list[str], data: st.DataObject
) -> None:
    value = "".join(planted["value"])
    for sign in signs:
        place = data.draw(st.integers(1, len(value) - 1))
        value = value[:place] + sign + value[place:]
    found, counts = mask(planted["text"].replace("{}", value), DEFAULTS)
    assert counts["PAYMENT_CARD"] == 1
    assert not any(char.isdecimal() for char in found)


def test_a_text_that_cannot_differ_has_no_copy() -> None:
    for text in ("plain", "Grüße aus Köln — nicht", "Привет, мир", "今天天气很好"):
        assert (copy_of(text) is None) == ("—" not in text)


def test_secrets_of_commands_networks_and_lists_are_found() -> None:
    for text, expected in {
        "curl -sS \\\n  -u 'anna:s3cr et' https://a.example": (
            "curl -sS \\\n  -u 'anna:[CREDENTIAL] et' https://a.example"
        ),
        "curl --user=anna:hunter22 x": "curl --user=anna:[CREDENTIAL] x",
        "wget --user anna --http-password swordfish https://a.example": (
            "wget --user anna --http-password [CREDENTIAL] https://a.example"
        ),
        "docker login -u anna -p swordfish": "docker login -u anna -p [CREDENTIAL]",
        "WIFI:T:WPA;S:home;P:maple;street;;": "WIFI:T:WPA;S:home;P:[CREDENTIAL];street;;",
        "Die Wiederherstellungscodes lauten: 4f7a-91bc, 8d2e-33a1 und 77b0-c4d9.": (
            "Die Wiederherstellungscodes lauten: [CREDENTIAL]."
        ),
        "Here are my recovery codes abcde-12345 fghij-67890": (
            "Here are my recovery codes [CREDENTIAL]"
        ),
        "my recovery key is ABCD-1234-EFGH": "my recovery key is [CREDENTIAL]",
        "WPA: 8f3kd92jd2": "WPA: [CREDENTIAL]",
        "Backup codes:\n1. 83920174\n2. 55019283\nBye": "Backup codes:\n1. [CREDENTIAL]\nBye",
        # Nothing is given away.
        "docker run -u 1000:1000 image": None,
        "Use curl -u name:$PASSWORD or --password <password>": None,
        "The recovery codes are 10 digits long.": None,
        "The backup codes: 2026-03-14 was the last day.": None,
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8": None,
        "open /srv/Projects/alpha2/Source/Main/Java/App1": None,
    }.items():
        assert masked(text) == (expected or text)


def test_ordinary_words_behind_a_label_are_no_secret() -> None:
    for text in (
        "A senha é obrigatória.",
        "Senha é coisa séria.",
        "A minha senha é segura, e a senha é necessária.",
        "Wachtwoord vergeten is vervelend.",
        "Hasło to podstawa bezpieczeństwa.",
        "Hasło to tajemnica.",
        "La password è fastidiosa? Il PIN è obbligatorio.",
    ):
        assert masked(text) == text


@pytest.mark.parametrize("number", [12, 15, 18, 21, 24])
def test_a_seed_phrase_is_masked_with_all_its_words(number: int) -> None:
    words = ["ozone", "drill", "grab", "fiber", "curtain", "grace"] * 4
    phrase = words[:number]
    listed = "\n".join(f"{n}. {word}" for n, word in enumerate(phrase, 1))
    for text, expected in {
        f"My seed phrase is {' '.join(phrase)}.": "My seed phrase is [CREDENTIAL].",
        f'mnemonic = "{", ".join(phrase)}"': 'mnemonic = "[CREDENTIAL]"',
        f"Recovery phrase:\n{listed}\n": "Recovery phrase:\n1. [CREDENTIAL]\n",
        f"Frase de recuperación: {' '.join(phrase)}": "Frase de recuperación: [CREDENTIAL]",
        f"{' '.join(phrase)} is my seed phrase": "[CREDENTIAL] is my seed phrase",
        f"Seed phrase: {' '.join(phrase)} and keep them safe": (
            "Seed phrase: [CREDENTIAL] and keep them safe"
        ),
    }.items():
        assert masked(text) == expected


def test_words_behind_the_label_of_a_phrase_are_no_phrase() -> None:
    for text in (
        "Keep the seed phrase in a safe place, and never tell it to anybody whom you do not know.",
        "The seed is watered daily and placed under bright lamps until small green leaves appear.",
        "A recovery phrase has twelve or more words, so write it down on paper and lock it away.",
    ):
        assert masked(text) == text
