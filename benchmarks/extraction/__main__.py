"""Evidence kept against turns kept: `python -m benchmarks.extraction LOCOMO_FILE`.

The file is in LoCoMo's shape: conversations of dated sessions, and questions that name the turns
their answers rest on. Both speakers count as users. The turns of each conversation are ranked by
`scoring.score`; the table says which share of the evidence turns is among the best 40 % and 70 %,
and what `extraction.extract` itself keeps.
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.language import extraction
from app.language.facts import Turn
from app.language.scoring import score

SHARES = (0.4, 0.7)
_ID = re.compile(r"D:?\s*(\d+):0*(\d+)")


@dataclass(frozen=True)
class Conversation:
    """The turns of one conversation by id, and the ids that each question rests on."""

    name: str
    turns: dict[str, Turn]
    evidence: list[set[str]]


def load(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of the file, without the evidence that names no turn."""
    for sample in json.loads(path.read_text(encoding="utf-8")):
        turns = dict(_turns(sample["conversation"]))
        cited = [" ".join(map(str, question.get("evidence") or [])) for question in sample["qa"]]
        found = [
            {f"D{int(session)}:{int(turn)}" for session, turn in _ID.findall(text)} & turns.keys()
            for text in cited
        ]
        yield Conversation(str(sample["sample_id"]), turns, [ids for ids in found if ids])


def _turns(conversation: dict[str, Any]) -> Iterator[tuple[str, Turn]]:
    for name, session in conversation.items():
        if not re.fullmatch(r"session_\d+", name) or not isinstance(session, list):
            continue
        when = f"{conversation[f'{name}_date_time'].strip()} +0000"
        said = datetime.strptime(when, "%I:%M %p on %d %B, %Y %z")
        for turn in session:
            yield turn["dia_id"], Turn("user", turn["text"], said)


def kept(conversation: Conversation, chosen: set[str]) -> tuple[int, int, int, int]:
    """Count distinct evidence turns chosen and in all, then the same per question."""
    distinct = set().union(*conversation.evidence)
    per_question = [turn for ids in conversation.evidence for turn in ids]
    return (
        len(distinct & chosen),
        len(distinct),
        sum(turn in chosen for turn in per_question),
        len(per_question),
    )


def best(conversation: Conversation, share: float) -> set[str]:
    """Return the ids of the best-scored share of the turns."""
    turns = conversation.turns
    ranked = sorted(turns, key=lambda name: score(turns[name].text), reverse=True)
    return set(ranked[: round(share * len(ranked))])


def extracted(conversation: Conversation) -> set[str]:
    """Return the ids of the turns from which the rules take at least one fact."""
    names = list(conversation.turns)
    turns = list(conversation.turns.values())
    found = extraction.extract(turns, now=datetime(2024, 1, 1, tzinfo=UTC))
    return {names[candidate.turn] for candidate in found}


def report(rows: Sequence[tuple[str, list[tuple[int, int, int, int]], list[int], int]]) -> None:
    """Print one line per way to choose."""
    print(f"{'chosen by':<22}{'turns kept':>12}{'evidence kept':>15}{'per question':>14}")
    for name, counts, chosen, total in rows:
        found, distinct, cited, citations = (sum(column) for column in zip(*counts, strict=True))
        shares = (sum(chosen) / total, found / distinct, cited / citations)
        print("{:<22}{:>12.3f}{:>15.3f}{:>14.3f}".format(name, *shares))


def main() -> None:
    """Measure the file named on the command line."""
    parser = argparse.ArgumentParser(description="Evidence kept against turns kept.")
    parser.add_argument("path", type=Path, help="a file in LoCoMo's shape")
    conversations = list(load(parser.parse_args().path))
    total = sum(len(conversation.turns) for conversation in conversations)
    rows = []
    for share in SHARES:
        chosen = [best(conversation, share) for conversation in conversations]
        counts = [kept(*pair) for pair in zip(conversations, chosen, strict=True)]
        rows.append((f"score, best {share:.0%}", counts, [len(ids) for ids in chosen], total))
    chosen = [extracted(conversation) for conversation in conversations]
    counts = [kept(*pair) for pair in zip(conversations, chosen, strict=True)]
    rows.append(("extraction.extract", counts, [len(ids) for ids in chosen], total))
    report(rows)


if __name__ == "__main__":
    main()
