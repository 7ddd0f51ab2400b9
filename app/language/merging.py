"""Consolidation without a model: a verdict on each candidate against the memories shown for it.

A later candidate overrides an earlier one. A memory is deleted only on request or after a direct
contradiction. No other content of a memory is lost. Where the rules find no relation, a learned
judge may take a memory of one sentence for the former state of a fact, unless a person set it.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

from app.language.facts import Candidate, Neighbour, Verdict, shown
from app.language.forgetting import is_another, is_everything, meant
from app.language.heads import NEAR, Array, Heads, PairOdds
from app.language.relations import (
    Statement,
    corrected,
    is_one_sentence,
    is_plan,
    overruled,
    read,
    same,
)
from app.language.tongues import is_english

# By memory shown for one candidate; a memory about to be created has no id and no vector yet.
_Cosines = dict[str | None, float]


@dataclass
class _Entry:
    """A memory that was shown, or (without an id) one about to be created."""

    memory_id: str | None
    said: Statement
    is_held: bool = False
    gone: bool = False
    reason: str = ""
    candidates: list[int] = field(default_factory=list)

    def becomes(self, said: Statement, reason: str, candidate: int) -> None:
        self.said, self.gone, self.reason = said, False, reason
        self.candidates.append(candidate)

    def ends(self, reason: str, candidate: int) -> None:
        self.gone, self.reason = True, reason
        self.candidates.append(candidate)


ASKED = "asked to forget"
"""The reason of deletions on request."""
_CONTRADICTED = "contradicted"
_OVER = 0.6
"""Least probability of a fact that replaces another."""
_ASKED_FOR, _BY_LEAD, _GREATEST_LEAD = 0.42, 1.6, 0.3
"""Least score of the fact that a request to forget means: its cosine, of at least `NEAR`, and 1.6
times its lead over the next fact. 68 % of 706 labelled requests reach it, and 91 % of these mean
that fact."""


@dataclass(frozen=True)
class PairJudge:
    """The learned judge of pairs, with vectors of length 1.

    Attributes:
        vectors: the vector of each candidate.
        around: the vector of each request that points back, with the sentence before it.
        stored: the vectors of the stored memories near such requests, by id.
    """

    heads: Heads
    vectors: Sequence[Array]
    around: Sequence[Array | None]
    stored: Mapping[str, Array]

    def cosine(self, entry: _Entry, position: int, cosines: _Cosines) -> float:
        """Return the similarity of an entry to a candidate; 0 if it was not shown for it."""
        if entry.memory_id is not None:
            return cosines.get(entry.memory_id, 0.0)
        return float(self.vectors[position] @ self.vectors[entry.candidates[-1]])

    def cosine_around(self, entry: _Entry, around: Array) -> float:
        """Return the similarity of an entry to a request with the sentence before it."""
        if entry.memory_id is not None:
            return float(around @ self.stored[entry.memory_id])
        return float(around @ self.vectors[entry.candidates[-1]])


@dataclass
class Consolidated:
    """The verdicts, and the positions of requests beyond the limit of deletions."""

    verdicts: list[Verdict]
    capped: set[int]


@dataclass
class _Bench:
    """The entries, and the remaining number of deletions for each reason."""

    entries: list[_Entry]
    left: dict[str, int]
    candidates: Sequence[Candidate]
    beyond: Sequence[float]
    judge: PairJudge | None = None
    capped: set[int] = field(default_factory=set)

    def judged(
        self, entries: Sequence[_Entry], said: str, position: int, cosines: _Cosines
    ) -> list[tuple[_Entry, PairOdds]]:
        """Return what the learned judge says of each entry that a vector can be compared with."""
        if self.judge is None:
            return []
        judge = self.judge
        near = [(entry, judge.cosine(entry, position, cosines)) for entry in entries]
        near = [one for one in near if one[1] >= NEAR]
        found = judge.heads.relate(
            [entry.said.fact for entry, _ in near],
            said,
            judge.vectors[position],
            [cosine for _, cosine in near],
        )
        return list(zip((entry for entry, _ in near), found, strict=True))

    def source_of(self, entry: _Entry) -> tuple[int, str]:
        """Return the turn and the words of this conversation on which an entry rests, if any."""
        if entry.memory_id is not None:
            return -1, ""
        stated = self.candidates[entry.candidates[-1]]
        return stated.turn, stated.source

    def end(self, entry: _Entry, reason: str, candidate: int) -> None:
        if entry.memory_id is not None:
            if self.left[reason] == 0:
                self.capped.add(candidate)
                return
            self.left[reason] -= 1
        entry.ends(reason, candidate)


def consolidate(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    beyond: Sequence[float] = (),
    *,
    max_deletes: int,
    max_forgets: int,
    by_meaning: bool = False,
    judge: PairJudge | None = None,
) -> Generator[None, None, Consolidated]:
    """Return the verdicts, with a step for each candidate.

    `neighbours` has one row per candidate, all of one scope, with the memories nearest to its fact.
    For a forget request, a longer row finds more of the requested memories; `beyond` has the
    greatest cosine of those that it may not end, of later times. Memories without a
    verdict stay. Facts delete at most `max_deletes` memories, and requests at most `max_forgets`.
    With `by_meaning`, a request may match a memory by its vector alone. The `judge` decides where
    the rules find no relation.
    """
    entries = []
    for near in shown(neighbours).values():
        entries.append(_Entry(near.memory_id, read(near.fact), near.is_held))
        yield
    left = {_CONTRADICTED: max_deletes, ASKED: max_forgets}
    bench = _Bench(entries, left, candidates, beyond or [0.0] * len(candidates), judge)
    for position, (candidate, row) in enumerate(zip(candidates, neighbours, strict=True)):
        yield
        cosines: _Cosines = {near.memory_id: near.cosine for near in row}
        if candidate.forget:
            _forget(bench, candidate, position, cosines, by_meaning=by_meaning)
        else:
            _take(
                bench, read(candidate.fact, dated_by_now=candidate.dated_by_now), position, cosines
            )
    verdicts = [verdict for entry in bench.entries if (verdict := _verdict(entry)) is not None]
    return Consolidated(verdicts, bench.capped)


def _forget(
    bench: _Bench, candidate: Candidate, position: int, cosines: _Cosines, *, by_meaning: bool
) -> None:
    live = [entry for entry in bench.entries if not entry.gone]
    if is_everything(candidate.fact):
        # Newest first, as they were shown; earlier statements are not stored yet.
        chosen = [entry for entry in live if entry.memory_id is None or entry.memory_id in cosines]
    else:
        near = {
            at: cosines[entry.memory_id]
            for at, entry in enumerate(live)
            if by_meaning and entry.memory_id is not None and entry.memory_id in cosines
        }
        facts = [entry.said.fact for entry in live]
        if bench.judge is None or not is_english(candidate.source):
            chosen = [live[at] for at in meant(candidate.fact, candidate.source, facts, near)]
        else:
            chosen = _meant(bench, live, candidate, position, cosines)
    for entry in chosen:
        bench.end(entry, ASKED, position)


def _meant(
    bench: _Bench, live: list[_Entry], asked: Candidate, position: int, cosines: _Cosines
) -> list[_Entry]:
    """Return the entries that an English request means: the nearest, and those with its words."""
    judge = bench.judge
    assert judge is not None
    within = [entry for entry in live if entry.memory_id is None or entry.memory_id in cosines]
    facts = [entry.said.fact for entry in within]
    named = [within[at] for at in meant(asked.fact, asked.source, facts, {})]
    # A sentence may state a fact before it asks.
    others = [one for one in within if bench.source_of(one) != (asked.turn, asked.source)]
    near = [judge.cosine(one, position, cosines) for one in others]
    nearest = _nearest(others, near, asked, bench.beyond[position])
    if named and asked.names_by_rule and (nearest is None or nearest in named):
        return named
    around = judge.around[position]
    if nearest is not None or around is None:
        return [nearest] if nearest else []
    # What it points to is not a fact to keep itself.
    sources = [bench.source_of(entry) for entry in others]
    pointed = [
        entry
        for entry, (turn, said) in zip(others, sources, strict=True)
        if turn == asked.turn and said.strip() in asked.context
    ]
    known = [
        entry
        for entry in others
        if entry not in pointed and (entry.memory_id is None or entry.memory_id in judge.stored)
    ]
    nearest = _nearest(known, [judge.cosine_around(one, around) for one in known], asked, 0.0)
    return [*pointed, nearest] if nearest else pointed


def _nearest(
    entries: Sequence[_Entry], cosines: Sequence[float], asked: Candidate, beyond: float
) -> _Entry | None:
    """Return the entry nearest to a request; None if it is far, or another is as near."""
    ranked = sorted(range(len(entries)), key=lambda at: cosines[at], reverse=True)
    if not ranked or cosines[ranked[0]] < max(NEAR, beyond):
        return None
    entry, cosine = entries[ranked[0]], cosines[ranked[0]]
    rivals = [cosines[at] for at in ranked[1:2]] + ([beyond] if beyond else [])
    # Alone, a fact may be near for want of another.
    lead = min(cosine - max(rivals), _GREATEST_LEAD) if rivals else 0.0
    is_sure = cosine + _BY_LEAD * lead >= _ASKED_FOR
    return entry if is_sure and not is_another(asked.fact, entry.said.fact) else None


def _take(bench: _Bench, new: Statement, position: int, cosines: _Cosines) -> None:
    ranked = sorted(
        bench.entries, key=lambda entry: cosines.get(entry.memory_id, 0.0), reverse=True
    )
    home = _home(ranked, new, cosines)
    if home is not None:
        kept = same(new, home.said, cosines.get(home.memory_id, 0.0)) or new.fact
        home.becomes(read(kept, dated_by_now=new.dated_by_now), "said again", position)
    others = [entry for entry in ranked if entry is not home and not entry.gone]
    outdated = _outdated(others, new)
    for entry in others:
        rest = overruled(new, entry.said, cosines.get(entry.memory_id, 0.0))
        rest = "" if rest is None and entry is outdated else rest
        if rest:
            entry.becomes(read(rest), "contradicted in part", position)
            home = home or _filled(entry, new)
        elif rest is not None and home is None:
            entry.becomes(new, _CONTRADICTED, position)
            home = entry
        elif rest is not None:
            bench.end(entry, _CONTRADICTED, position)
    if home is None:
        untouched = [entry for entry in others if position not in entry.candidates]
        home = _judged_home(bench, untouched, new, position, cosines)
    if home is None:
        bench.entries.append(_Entry(None, new, reason="new", candidates=[position]))


def _home(ranked: list[_Entry], new: Statement, cosines: _Cosines) -> _Entry | None:
    """Return the equivalent entry: stored before unstored, live before deleted."""
    alike = [
        entry
        for entry in ranked
        if same(new, entry.said, cosines.get(entry.memory_id, 0.0)) is not None
    ]
    exact = [entry for entry in alike if entry.said.key == new.key]
    return min(
        exact or alike, key=lambda entry: (entry.gone, entry.memory_id is None), default=None
    )


def _outdated(others: list[_Entry], new: Statement) -> _Entry | None:
    """Return the only entry with a value that the new fact corrects; None for several."""
    corrected_entries = [entry for entry in others if corrected(new, entry.said)]
    return corrected_entries[0] if len(corrected_entries) == 1 else None


def _judged_home(
    bench: _Bench, others: list[_Entry], new: Statement, position: int, cosines: _Cosines
) -> _Entry | None:
    """Return the entry that the learned judge takes for a former state of the fact."""
    if not is_english(new.fact):
        return None
    judged = bench.judged(others, new.fact, position, cosines)
    judged = [one for one in judged if not one[0].is_held and is_one_sentence(one[0].said.fact)]
    if is_plan(new.fact):
        # A home or a job lasts until then.
        judged = [one for one in judged if not one[0].said.is_lasting or is_plan(one[0].said.fact)]
    if not judged:
        return None
    entry, odds = max(judged, key=lambda one: one[1].over)
    if odds.over < _OVER:
        return None
    entry.becomes(new, _CONTRADICTED, position)
    return entry


def _filled(entry: _Entry, new: Statement) -> _Entry | None:
    return entry if same(new, entry.said, 0.0) == entry.said.fact else None


def _verdict(entry: _Entry) -> Verdict | None:
    if not entry.candidates:
        return None
    based_on = tuple(entry.candidates)
    if entry.memory_id is None:
        return (
            None if entry.gone else Verdict("CREATE", based_on, entry.reason, fact=entry.said.fact)
        )
    if entry.gone:
        return Verdict("DELETE", based_on, entry.reason, entry.memory_id)
    return Verdict("UPDATE", based_on, entry.reason, entry.memory_id, entry.said.fact)
