"""Conversion of a model's verdicts about new facts to changes of memories.

A decision is carried out if it names memories from the prompt, adds nothing without a source and
stays within the caps. The fact of a refused decision becomes a new memory, which avoids losing it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.kernel.text import clean, fold
from app.language.facts import Candidate, Neighbour, Verdict
from app.language.merging import ASKED
from app.memory.generation.logic.additions import TextWords, is_without_additions
from app.memory.generation.logic.checks import refusal
from app.memory.generation.logic.outcomes import (
    Dropped,
    DropReason,
    RefusalReason,
    Refused,
    Unmet,
    UnmetReason,
)
from app.memory.generation.logic.replies import FactVerdict
from app.memory.generation.logic.specifics import Origin

MAX_SHOWN_CHARS = 600
"""Maximum characters of a memory in a prompt; rewriting a longer memory would lose text."""
MERGED = "merged"
"""The reason recorded for a change by a fact that adds to a memory."""
_MAX_REQUEST_CHARS = 200
_MAX_NEAREST = 3
_NO_ID = re.compile(r"[\W_]+")
_MAX_ID_CHARS = 9


@dataclass
class NewFact:
    """Candidates of one conversation with the same text; `candidate` is the latest one.

    Attributes:
        near: the memories that the fact may be about, nearest first.
        has_more: True if a request to forget matches more memories than `near` has.
        later: the memories that a request to forget means, but that rest on a later time.
    """

    positions: list[int]
    candidate: Candidate
    near: list[Neighbour] = field(default_factory=list)
    has_more: bool = False
    later: list[Neighbour] = field(default_factory=list)

    @property
    def ordered_positions(self) -> tuple[int, ...]:
        """Positions in ascending order."""
        return tuple(sorted(self.positions))

    def origin(self, memories: Sequence[str]) -> Origin:
        """Return the texts that a rewritten fact may be made from, memories included."""
        # Without an assistant's words: the fact already has the parts that the user
        # accepted.
        candidate = self.candidate
        return self.origin_of(candidate.fact, candidate.source, candidate.context, *memories)

    def origin_of(self, *texts: str) -> Origin:
        """Return texts as statements made on the day of the fact."""
        assert self.candidate.said_on is not None, "a fact that a model decides on has its day"
        day = self.candidate.said_on
        return Origin(tuple((text, day) for text in texts if text), day)


@dataclass(frozen=True)
class Caps:
    """Maximum number of memories that one generation may delete, because of facts or on request."""

    deletes: int
    forgets: int

    @property
    def all(self) -> int:
        """Maximum number of memories that one generation may delete for any reason."""
        return self.deletes + self.forgets


@dataclass
class VerdictDecisions:
    """Changes by verdicts; `unread` has the turns of facts whose verdicts could not be parsed."""

    verdicts: list[Verdict] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    unmet: list[Unmet] = field(default_factory=list)
    verified: int = 0
    unread: frozenset[int] = frozenset()


def decided(
    facts: Sequence[NewFact],
    said: Sequence[FactVerdict],
    aliases: Mapping[str, Neighbour],
    caps: Caps,
    settled: Sequence[Verdict] = (),
) -> VerdictDecisions:
    """Return the settled verdicts and the verdicts that follow from the model's decisions.

    `aliases` maps the short ids in the prompt to their memories.
    """
    return _Decisions(facts, said, aliases, caps, settled).run()


class _Decisions:
    def __init__(
        self,
        facts: Sequence[NewFact],
        said: Sequence[FactVerdict],
        aliases: Mapping[str, Neighbour],
        caps: Caps,
        settled: Sequence[Verdict],
    ) -> None:
        self._facts = facts
        self._aliases = aliases
        known = [verdict for verdict in said if 0 <= verdict.fact < len(facts)]
        self._said = [self._cleaned(verdict) for verdict in known]
        self._left = {False: caps.deletes, True: caps.forgets}
        self._found = VerdictDecisions(
            refused=[_unknown_fact(verdict) for verdict in said if verdict not in known]
        )
        self._changes = {
            verdict.memory_id: verdict for verdict in settled if verdict.memory_id is not None
        }
        self._created = [verdict for verdict in settled if verdict.memory_id is None]
        self._gone: dict[int, DropReason] = {}
        self._taken_in: set[int] = set()
        self._effects: set[int] = set()
        self._texts: dict[int, str] = {}

    def run(self) -> VerdictDecisions:
        for number, new in enumerate(self._facts):
            self._confirm(number, new)
        # A request to forget outweighs any other decision about the memory.
        for verdict in sorted(self._said, key=lambda verdict: not self._is_request(verdict.fact)):
            # For a request to forget, "same" means that there is no work to do.
            is_request = self._is_request(verdict.fact)
            if verdict.fact in self._gone or (verdict.action == "same" and is_request):
                continue
            if verdict.action == "add":
                self._cut(verdict)
            else:
                self._carry_out(verdict)
        self._found.verdicts = [*self._changes.values(), *self._created, *self._creations()]
        self._found.dropped = [
            _dropped(self._facts[n].candidate, reason) for n, reason in sorted(self._gone.items())
        ]
        self._found.unmet = [
            unmet
            for number, new in enumerate(self._facts)
            if new.candidate.forget and number not in self._gone
            for unmet in self._left_undone(number, new)
        ]
        return self._found

    def _cleaned(self, verdict: FactVerdict) -> FactVerdict:
        # The memory must have an id from the prompt.
        memory = _NO_ID.sub("", verdict.memory).casefold().removeprefix("memory")
        # In a request to forget, a bare number may be the number of a new fact.
        if not self._is_request(verdict.fact) or self._fact_before(verdict, memory) is None:
            memory = next((id_ for id_ in (memory, f"m{memory}") if id_ in self._aliases), memory)
        return verdict.model_copy(update={"memory": memory, "text": clean(verdict.text).strip()})

    def _fact_before(self, verdict: FactVerdict, number: str) -> int | None:
        at = int(number) if number.isdecimal() and len(number) < _MAX_ID_CHARS else -1
        if not 0 <= at < len(self._facts) or self._is_request(at):
            return None
        is_later = self._facts[at].candidate.turn > self._facts[verdict.fact].candidate.turn
        return None if is_later else at

    def _is_request(self, fact: int) -> bool:
        return self._facts[fact].candidate.forget

    def _confirm(self, number: int, new: NewFact) -> None:
        verdicts = [verdict for verdict in self._said if verdict.fact == number]
        if any(verdict.holds is False for verdict in verdicts):
            self._gone[number] = "NOT_SAID"
        elif new.candidate.doubtful and not any(verdict.holds for verdict in verdicts):
            self._gone[number] = "NOT_VERIFIED"
        elif new.candidate.doubtful:
            self._found.verified += 1

    def _cut(self, verdict: FactVerdict) -> None:
        """Use the model's shorter text of a new fact if it only removes added words."""
        candidate = self._facts[verdict.fact].candidate
        said = TextWords(f"{candidate.context} {candidate.question}")
        if is_without_additions(verdict.text, candidate.fact, said):
            self._texts[verdict.fact] = verdict.text

    def _carry_out(self, verdict: FactVerdict) -> None:
        new = self._facts[verdict.fact]
        if new.candidate.forget and verdict.action == "delete" and self._forget_fact(verdict):
            return
        near = self._aliases.get(verdict.memory)
        reason = "UNKNOWN_MEMORY" if near is None else self._refusal_of(new, verdict, near)
        if near is None or reason is not None:
            self._refuse(verdict, near, reason or "UNKNOWN_MEMORY")
            return
        self._take(verdict, new, near)

    def _forget_fact(self, verdict: FactVerdict) -> bool:
        """End a new fact that was stated before a request to forget it."""
        number = self._fact_before(verdict, verdict.memory)
        if number is None:
            return False
        self._gone[number] = "FORGOTTEN"
        self._effects.add(verdict.fact)
        return True

    def _refusal_of(
        self, new: NewFact, verdict: FactVerdict, near: Neighbour
    ) -> RefusalReason | None:
        before = self._changes.get(near.memory_id)
        if verdict.action == "delete":
            return self._refusal_of_delete(new, near, before)
        if verdict.action != "same" and len(near.fact) > MAX_SHOWN_CHARS:
            return "MEMORY_CUT"
        if before is not None and _conflicts(before, verdict, near):
            return "CONFLICT"
        return None if verdict.action == "same" else self._refusal_of_write(new, verdict, near)

    def _refusal_of_write(
        self, new: NewFact, verdict: FactVerdict, near: Neighbour
    ) -> RefusalReason | None:
        if new.candidate.forget:
            is_new = near.memory_id not in self._changes
            if is_new and self._left[True] == 0:
                return "TOO_MANY_DELETES"
            return self._refusal_of_part(new, verdict, near)
        related = (new.candidate.fact, near.fact)
        origin = new.origin([near.fact, *self._others(verdict)])
        return refusal(verdict.text, origin, self._shown_texts(new), related)

    def _refusal_of_delete(
        self, new: NewFact, near: Neighbour, before: Verdict | None
    ) -> RefusalReason | None:
        is_request = new.candidate.forget
        if before is not None and before.action == "DELETE":
            return None
        if not is_request and len(near.fact) > MAX_SHOWN_CHARS:
            return "MEMORY_CUT"
        if before is not None and not is_request:
            return "CONFLICT"
        return "TOO_MANY_DELETES" if self._left[is_request] == 0 else None

    def _refusal_of_part(
        self, new: NewFact, verdict: FactVerdict, near: Neighbour
    ) -> RefusalReason | None:
        # The text may be worded freely, but may add no name, number or date.
        if verdict.action != "replace" or fold(verdict.text) == fold(near.fact):
            return "BAD_LENGTH"
        origin = new.origin_of(near.fact)
        return refusal(verdict.text, origin, origin, (near.fact,))

    def _others(self, verdict: FactVerdict) -> list[str]:
        """Return the facts of decisions with the same text: one memory may take several at once."""
        return [
            text
            for other in self._said
            if (other.memory, other.text) == (verdict.memory, verdict.text)
            and other.action in {"merge", "replace"}
            and other.fact not in {verdict.fact, *self._gone}
            and not self._is_request(other.fact)
            for text in (
                self._facts[other.fact].candidate.fact,
                self._facts[other.fact].candidate.context,
            )
        ]

    def _shown_texts(self, new: NewFact) -> Origin:
        texts = [near.fact for near in self._aliases.values()]
        texts += [new_fact.candidate.fact for new_fact in self._facts]
        return new.origin(texts)

    def _take(self, decision: FactVerdict, new: NewFact, near: Neighbour) -> None:
        before = self._changes.get(near.memory_id)
        positions = (
            new.ordered_positions
            if before is None
            else (*before.candidates, *new.ordered_positions)
        )
        self._effects.add(decision.fact)
        if decision.action == "delete":
            if before is None or before.action != "DELETE":
                self._left[new.candidate.forget] -= 1
            reason = ASKED if new.candidate.forget else "ended"
            verdict = Verdict("DELETE", positions, reason, near.memory_id)
        elif decision.action == "same":
            verdict = before or Verdict(
                "UPDATE", positions, "said again", near.memory_id, near.fact
            )
            verdict = replace(verdict, candidates=positions)
        else:
            reason = MERGED if decision.action == "merge" else "replaced"
            if new.candidate.forget:
                # A memory that loses a part counts as one deleted memory.
                self._left[True] -= before is None
                reason = ASKED
            verdict = Verdict("UPDATE", positions, reason, near.memory_id, decision.text)
        if decision.action != "delete":
            self._taken_in.add(decision.fact)
        self._changes[near.memory_id] = verdict

    def _refuse(self, verdict: FactVerdict, near: Neighbour | None, reason: RefusalReason) -> None:
        fact = self._facts[verdict.fact].candidate.fact
        memory_id = None if near is None else near.memory_id
        self._found.refused.append(Refused(fact, verdict.action, memory_id, verdict.text, reason))

    def _creations(self) -> list[Verdict]:
        return [
            Verdict(
                "CREATE",
                new.ordered_positions,
                "new",
                fact=self._texts.get(number, new.candidate.fact),
            )
            for number, new in enumerate(self._facts)
            if number not in self._gone
            and number not in self._taken_in
            and not new.candidate.forget
        ]

    def _left_undone(self, number: int, new: NewFact) -> list[Unmet]:
        reasons = [
            refused.reason for refused in self._found.refused if refused.fact == new.candidate.fact
        ]
        is_capped = new.has_more or "TOO_MANY_DELETES" in reasons
        if number in self._effects and not is_capped:
            return []
        reason: UnmetReason | None = None
        if is_capped:
            reason = "TOO_MANY"
        elif reasons:
            reason = "REFUSED"
        gone = {id_ for id_, verdict in self._changes.items() if verdict.action == "DELETE"}
        near = [memory for memory in new.near if memory.memory_id not in gone]
        return [unmet(new.candidate, reason, near, new.later)]


def unmet(
    request: Candidate,
    reason: UnmetReason | None,
    near: Sequence[Neighbour] = (),
    later: Sequence[Neighbour] = (),
) -> Unmet:
    """Return the record of a request to forget that was not completely carried out."""
    # Without a reason, either all memories that the request refers to are `later`, or there are
    # none.
    said = (request.source or request.fact)[:_MAX_REQUEST_CHARS]
    if reason is None:
        reason = "OLDER" if later else "NOTHING_FOUND"
    nearest = [memory.memory_id for memory in (later if reason == "OLDER" else near)]
    return Unmet(said, reason, tuple(nearest[:_MAX_NEAREST]), has_more=reason == "TOO_MANY")


def _conflicts(before: Verdict, verdict: FactVerdict, near: Neighbour) -> bool:
    """Return True if a verdict contradicts an earlier one; "same" agrees with any text."""
    if before.action == "DELETE":
        return True
    return verdict.action != "same" and before.fact not in {verdict.text, near.fact}


def _dropped(candidate: Candidate, reason: DropReason) -> Dropped:
    # A retracted fact was understood; another model may confirm a fact that this one did not.
    turn = candidate.turn if reason == "FORGOTTEN" else None
    return Dropped(candidate.fact, candidate.source, reason, turn=turn)


def _unknown_fact(verdict: FactVerdict) -> Refused:
    return Refused("", verdict.action, None, verdict.text, "UNKNOWN_FACT")
