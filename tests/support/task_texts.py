"""Long texts for tests, the same each time."""

import random

TOKENS = 73_874
"""Of the page in the documentation whose task memory this one is like."""
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()  # noqa: SIM905 - shorter


def long_text(tokens: int = TOKENS, fact: str = "", place: float = 0.9) -> str:
    """Return sentences and paragraphs of so many tokens; the fact stands at its place."""
    made = random.Random(7)
    vocabulary = ["".join(made.choices(_SYLLABLES, k=made.randint(1, 4))) for _ in range(900)]
    length = tokens * 4
    found, size, is_told = [], 0, not fact
    while size < length:
        words = made.choices(vocabulary, k=made.randint(4, 24))
        sentence = " ".join(words).capitalize() + made.choice([". ", ". ", "! ", ".\n", ".\n\n"])
        if not is_told and size >= length * place:
            sentence, is_told = f"{fact} {sentence}", True
        found.append(sentence)
        size += len(sentence)
    return "".join(found)[:length]
