"""What is made of conversations without a model: `python -m benchmarks.talks`.

The talks stand in `talks.json`, from which the rules were developed, or in files of the same shape
that are named: `unseen.json` was written by people who knew neither the rules nor the learned
judges, `second.json` after the judges were trained first, `third.json` and `fourth.json` when they
were trained again, `fifth.json` later; `unseen_other_languages.json` has one talk each in German,
Spanish and French. With `--rules-alone` the judges say nothing. Each session is a generation of its
own, over a real service with its default settings and no model. A talk's gold was written before
the rules were tried on it: what may be `live` at the end, which `old` facts were corrected, what
was to `forget`, what must `never` be stored, and which `dates` are right.

How it is judged. A text matches an entry if it has each of its words (and none of `not`), as it is
written, without regard to case.

- A live memory is *wrong* if it matches `never`, has a date in parentheses that is not among
  `dates`, or matches an `old` fact beside its correction.
- It is *right and useful* if it is not wrong, matches an entry of `live`, `forget` or `old`, and
  does not begin with a word that stands for another ("it", "mine", "she").
- A corrected fact counts if it was live after an earlier session; it is *replaced* if no live
  memory matches it at the end and one matches its correction.
- A request to forget counts if what it means was live before; it is *obeyed* if it is not any more,
  and *told* if the operation reports it as unmet and names the memory that it means as near.
"""

import argparse
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.language import heads
from app.process.serving import run
from benchmarks.hygiene.bank import Bank, open_bank
from benchmarks.surroundings import data_folder, unread_logs

Json = dict[str, Any]

_SHIPPED = Path(__file__).with_name("talks.json")
_DATE = re.compile(r"\((\d{4}(?:-\d\d){0,2}(?:/[\d-]+)?)\)")
_STANDS_FOR = re.compile(
    r"(?:it|he|she|they|mine|there|that|this|es|er|sie|das|meine?s|ella|él|eso|il|elle|ça)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Entry:
    """Words that a memory has, and words that it does not have."""

    words: tuple[str, ...]
    without: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Tell whether a text has all of the words and none of the others."""
        return all(_has(text, one) for one in self.words) and not any(
            _has(text, one) for one in self.without
        )


def _has(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Gold:
    """What shall come of a talk; `old` has pairs of a fact and its correction."""

    live: list[Entry]
    old: list[tuple[Entry, Entry]]
    forget: list[Entry]
    never: list[Entry]
    dates: frozenset[str]

    @classmethod
    def of(cls, talk: Json) -> "Gold":
        """Read the gold of a talk."""
        entries = {
            kind: [Entry(tuple(words)) for words in talk[kind]]
            for kind in ("live", "forget", "never")
        }
        old = [
            (Entry(tuple(one["was"]), tuple(one["not"])), Entry(tuple(one["now"])))
            for one in talk["old"]
        ]
        return cls(
            entries["live"], old, entries["forget"], entries["never"], frozenset(talk["dates"])
        )

    def judged(self, text: str, live: list[str]) -> str:
        """Return "right", "wrong" or "useless" for a live memory."""
        corrected = any(
            was.matches(text) and any(now.matches(other) for other in live if other != text)
            for was, now in self.old
        )
        if corrected or any(one.matches(text) for one in self.never):
            return "wrong"
        if set(_DATE.findall(text)) - self.dates:
            return "wrong"
        known = [*self.live, *self.forget, *(was for was, _ in self.old)]
        is_known = any(one.matches(text) for one in known)
        return "right" if is_known and not _STANDS_FOR.match(text) else "useless"


async def measure(bank: Bank, talk: Json, *, verbose: bool) -> Counter[str]:
    """Hold one talk; return the counts."""
    gold, counts = Gold.of(talk), Counter[str]()
    scope = {"talk": talk["name"]}
    was_live: set[str] = set()
    before: set[str] = set()
    live: list[str] = []
    near: set[str] = set()
    for session in talk["sessions"]:
        before = set(was_live)
        events = [
            {
                "content": {"role": turn["role"], "parts": [{"text": turn["text"]}]},
                "eventTime": session["date"],
            }
            for turn in session["turns"]
        ]
        operation = await bank.generated(scope, events)
        stored = await bank.stored(scope)
        live = list(stored.values())
        unmet = operation["metadata"].get("unmetForgetRequests", [])
        names = (name for one in unmet for name in one.get("nearest", ()))
        near |= {stored[name] for name in names if name in stored}
        was_live |= set(live)
    for text in live:
        verdict = gold.judged(text, live)
        counts[verdict] += 1
        if verbose:
            print(f"  {verdict:<8} {text}")
    for was, now in gold.old:
        if any(was.matches(text) for text in was_live):
            counts["corrected"] += 1
            gone = not any(was.matches(text) for text in live)
            counts["replaced"] += gone and any(now.matches(text) for text in live)
    for one in gold.forget:
        if any(one.matches(text) for text in before):
            counts["requests"] += 1
            is_live = any(one.matches(text) for text in live)
            counts["obeyed"] += not is_live
            counts["told"] += is_live and any(one.matches(text) for text in near)
    counts["found"] = sum(any(one.matches(text) for text in live) for one in gold.live)
    counts["gold"] = len(gold.live)
    return counts


def _share(part: int, of: int) -> str:
    return f"{part} of {of} ({part / of:.0%})" if of else "none"


def report(title: str, counts: Counter[str]) -> None:
    """Print one talk's counts in a line."""
    made = counts["right"] + counts["wrong"] + counts["useless"]
    print(
        f"{title:<26} right and useful {_share(counts['right'], made)}, wrong"
        f" {_share(counts['wrong'], made)}, corrected replaced"
        f" {_share(counts['replaced'], counts['corrected'])}, forget obeyed"
        f" {_share(counts['obeyed'], counts['requests'])} and {counts['told']} told, gold found"
        f" {_share(counts['found'], counts['gold'])}"
    )


async def _run(folder: Path, talks: list[Json], *, verbose: bool) -> None:
    total = Counter[str]()
    async with open_bank(folder) as bank:
        for talk in talks:
            counts = await measure(bank, talk, verbose=verbose)
            report(talk["name"], counts)
            total += counts
    report("all", total)


def main() -> None:
    """Measure the talks."""
    parser = argparse.ArgumentParser(description="Conversations and the memories made of them.")
    parser.add_argument("files", nargs="*", type=Path, default=[_SHIPPED])
    parser.add_argument("--verbose", action="store_true", help="print each memory as judged")
    parser.add_argument("--rules-alone", action="store_true", help="without the learned judges")
    chosen = parser.parse_args()
    if chosen.rules_alone:
        heads.MODEL_ID = ""  # as with an embedder that has no judges
    talks = [talk for path in chosen.files for talk in json.loads(path.read_text(encoding="utf-8"))]
    with unread_logs(), data_folder() as folder:
        run(lambda: _run(folder, talks, verbose=chosen.verbose))


if __name__ == "__main__":
    main()
