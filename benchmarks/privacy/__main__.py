"""What looking for sensitive values costs: `python -m benchmarks.privacy [--rounds N]`.

Texts of two lengths are searched under the defaults and for all kinds, and hard ones, whose time
must grow by no more than their length. Then generations of six
messages by the built-in rules run in turn with the defaults and with everything off. It exits with
1 if a bar of the defaults is missed.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from statistics import median, quantiles
from typing import Any

from app.kernel.wire.privacy_config import Kind
from app.language.privacy.walk import mask
from benchmarks.hygiene.bank import Bank, open_bank, seconds
from benchmarks.surroundings import data_folder, unread_logs

_TALK = (
    "We spent the weekend in the mountains, and the weather was better than the forecast had said."
    " On Sunday we took the train at 10:45 and were home for dinner. Anna wants to come along next"
    " time, so I need a cabin with three rooms from 12 to 14 June. Last year we paid 1,299 for it."
    " Please remind me to write to the owner on Monday, and to take the blue tent to the repair. "
)
_LABELS = (
    "I moved to Oslo on 3 May 2024, and I like it here. My order 20240115-778 is late again. Could"
    " you book a window seat on flight LH1234 at 10:45? I forgot my password, the token expired."
    " See https://example.com/help?id=9 or ask Anna. "
)
_MESSAGES = (
    "I live in Oslo.",
    "I work as a nurse.",
    "My dog is called Rex.",
    "I am allergic to nuts.",
    "I like green tea.",
    "My favorite color is blue.",
)
_HARD = {
    "invisible characters": "a\u200b",
    "letters with marks": "a\u0301\u0316\u0301",
    "one letter with marks": "\u0301\u0316",
    "full width": "\uff50\uff49\uff4e\u3000\uff11\uff12\uff13\uff14 ",
    "mixed scripts": "p\u0430sswor\u0501 ",
    "one word of mixed scripts": "a1\u0430",
    "groups of digits": "4012.8833.1023.9921 ",
    "one row of groups": "4012,8833,1023,9921,",
    "keys in base64": "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d ",
    "seed phrases": "seed phrase is abandon ability ",
    "recovery codes": "recovery codes: 4f7a-91bc 8d2e-33a1 ",
    "labels without blanks": "\u5bc6\u7801\u662f",
    "commands": "curl -u a ",
}
_LENGTHS = (25_000, 100_000)
_NOISE = 50.0
"""Milliseconds more that do not count: short texts take RE2's shorter ways."""
_RATIO_BAR = 8
"""Times that a text takes which is four times as long: 4 if the time is linear, 16 if quadratic."""
_DEFAULTS = {Kind.CREDENTIAL, Kind.PAYMENT_CARD}
_OFF = [{"kind": kind, "action": "OFF"} for kind in Kind]
_MILLI = 1_000
_SIZES = (("4 KB", 4_096, 20, 1.0), ("1 MB", 1_000_000, 1, 50.0))
"""Name, characters, searches a round, and the bar of p99 in milliseconds."""
_GENERATION_BAR = 2.0
"""Milliseconds more than with everything off."""


def _milliseconds(text: str, kinds: set[Kind], rounds: int) -> list[float]:
    taken = []
    for _ in range(rounds):
        begin = seconds()
        mask(text, kinds)
        taken.append((seconds() - begin) * _MILLI)
    return taken


def _texts(rounds: int) -> bool:
    """Print what searches take; return True if the bars are kept."""
    print(f"{'search in a text':<28}{'p50 ms':>10}{'p99 ms':>10}{'bar':>8}")
    is_kept = True
    for name, length, times, bar in _SIZES:
        for said, of, kinds in (
            (_TALK, "talk", _DEFAULTS),
            (_TALK, "talk, all kinds", set(Kind)),
            (_LABELS, "full of labels", _DEFAULTS),
        ):
            text = (said * (length // len(said) + 1))[:length]
            cuts = quantiles(_milliseconds(text, kinds, times * rounds), n=100)
            held = f"{bar:>8.0f} {_said(cuts[98] <= bar)}" if kinds == _DEFAULTS else ""
            is_kept &= not held or cuts[98] <= bar
            print(f"{name + ', ' + of:<28}{cuts[49]:>10.3f}{cuts[98]:>10.3f}{held}")
    return is_kept


def _ratios(rounds: int) -> bool:
    """Print how the time of hard texts grows with their length; return True if by no more."""
    print(f"\n{'four times as long':<28}{'25 KB ms':>10}{'times':>10}{'bar':>8}")
    is_kept = True
    for name, said in _HARD.items():
        short, long = (
            min(_milliseconds((said * (length // len(said) + 1))[:length], _DEFAULTS, rounds))
            for length in _LENGTHS
        )
        is_kept &= long <= short * _RATIO_BAR + _NOISE
        print(f"{name:<28}{short:>10.1f}{long / short:>10.1f}{_RATIO_BAR:>8}")
    return is_kept


def _said(is_kept: bool) -> str:  # noqa: FBT001 - what it says
    return "kept" if is_kept else "MISSED"


async def _generations(bank: Bank, rounds: int) -> bool:
    """Print what generations take; return True if the bar is kept."""
    events: Sequence[dict[str, Any]] = [
        {"content": {"role": "user", "parts": [{"text": text}]}} for text in _MESSAGES
    ]
    taken: dict[str, list[float]] = {"off": [], "defaults": []}
    ways = [("off", _OFF), ("defaults", [])]
    for number in range(rounds):
        # Either goes first in turn: the second finds the bank warmer.
        for name, rules in ways if number % 2 else reversed(ways):
            config = {"contextSpec": {"memoryBankConfig": {"privacyConfig": {"rules": rules}}}}
            answer = await bank.client.patch("", params={"updateMask": "context_spec"}, json=config)
            answer.raise_for_status()
            begin = seconds()
            await bank.generated({"case": f"{name} {number}"}, list(events))
            taken[name].append((seconds() - begin) * _MILLI)
    off, on = median(taken["off"]), median(taken["defaults"])
    more = median(on - off for off, on in zip(taken["off"], taken["defaults"], strict=True))
    print(f"\ngeneration of six messages: {off:.2f} ms off, {on:.2f} ms under the defaults,")
    print(f"{more:+.2f} ms (medians of {rounds} rounds, and of the differences within each)")
    is_kept = more <= _GENERATION_BAR
    print(f"bar: {_GENERATION_BAR:+.0f} ms: {_said(is_kept)}")
    return is_kept


async def _run(rounds: int) -> bool:
    with unread_logs(), data_folder() as folder:
        async with open_bank(folder) as bank:
            return await _generations(bank, rounds)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    rounds: int = parser.parse_args().rounds
    are_kept = [_texts(rounds), _ratios(max(1, rounds // 10)), asyncio.run(_run(rounds))]
    sys.exit(0 if all(are_kept) else 1)


if __name__ == "__main__":
    main()
