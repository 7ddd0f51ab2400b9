"""Facts that say nothing but a mask become no memories."""

from app.language.privacy.walk import is_only_mask


def test_a_statement_of_a_mask_says_nothing() -> None:
    for text in (
        "My password is [CREDENTIAL].",
        "Remember my card [PAYMENT_CARD]",
        "My API key is [CREDENTIAL], and my card is [PAYMENT_CARD].",
        "Mein Passwort lautet [CREDENTIAL]",
        "[CREDENTIAL] is my password",
        "[CREDENTIAL]",
    ):
        assert is_only_mask(text), text


def test_a_statement_beside_a_mask_stays() -> None:
    for text in (
        "I live in Berlin and my password is [CREDENTIAL]",
        "[CREDENTIAL] is my password and I like tea",
        "I sent the report to [EMAIL]",
        "I like tea",
    ):
        assert not is_only_mask(text), text
