"""Any sequence of changes, by any path and at any time, keeps the ledger equal to its model."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from app.settings.settings import Settings
from tests.support.ledger_bench import Bench
from tests.support.ledger_check import check_all
from tests.support.ledger_model import Bank, Ledger, Memory, Revising
from tests.support.ledger_talks import LEAST, Talks
from tests.support.ledger_wire import undo_told, wire_bank, wire_revising, wire_ttl
from tests.support.telling import WAYS

EXAMPLES = settings().max_examples * 3 // 10
STEPS = 20
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
KEPT = 7 * DAY
"""How long operations are."""
JUMPS = [HOUR, 2 * HOUR, DAY, 47 * HOUR, 2 * DAY, 5 * DAY, 366 * DAY]
FACTS = [
    "I like tea.",
    "I like coffee.",
    "I live in Paris.",
    "I live in London.",
    "My dog is called Rex.",
]
TALKS = [
    ["I live in Paris.", "I like tea."],
    ["I moved to London."],
    ["Please forget that I like tea."],
    ["Forget where I live."],
    ["Thanks, bye!"],
]
BANKS = [
    Bank(),
    Bank(default_ttl=3 * DAY),
    Bank(create_ttl=DAY, generate_created_ttl=2 * DAY, generate_updated_ttl=5 * DAY),
    Bank(revision_ttl=2 * DAY),
    Bank(keeps_revisions=False),
]
REVISING = [
    Revising(),
    Revising(labels={"source": "a"}),
    Revising(labels={"source": "b", "run": "1"}),
    Revising(ttl=DAY),
    Revising(keep=False),
]

facts = st.sampled_from(FACTS)
lives = st.sampled_from([None, None, DAY, 10 * DAY])
scopes = st.sampled_from(["ann", "bob"])
revisings = st.sampled_from(REVISING)
ANY = 9
UNDONE = {"DELETED", "UPDATED", "RESTORED"}
picks = st.integers(0, 11)


class LedgerMachine(RuleBasedStateMachine):
    """Sends each change to the service and to the model, and compares what both hold."""

    bench: Bench

    @initialize(bank=st.sampled_from(BANKS))
    def open_bank(self, bank: Bank) -> None:
        self.bench.empty()
        self.ledger = Ledger(bank)
        self.operations: dict[str, datetime] = {}
        self.before: dict[str, dict[str, Memory]] = {}
        body = {"contextSpec": {"memoryBankConfig": wire_bank(bank)}}
        answer = self.bench.ask("POST", "reasoningEngines", body)
        self.engine = answer.json()["response"]["name"]
        self.talks = Talks(self.bench, self.engine)

    @property
    def now(self) -> datetime:
        return self.bench.clock.now()

    @rule(
        chosen=st.sampled_from([None, None, "one", "two"]),
        fact=st.one_of(st.none(), facts),
        scope=scopes,
        ttl=lives,
        revising=revisings,
    )
    def create(
        self,
        chosen: str | None,
        fact: str | None,
        scope: str,
        ttl: timedelta | None,
        revising: Revising,
    ) -> None:
        body = {"scope": {"user": scope}, **wire_ttl(ttl), **wire_revising(revising)}
        content = {"data": {"a": 1}, "schemaId": "s"}
        body |= {"fact": fact} if fact else {"structuredContent": content}
        query = {"memoryId": chosen} if chosen else {}
        answer = self.bench.ask("POST", f"{self.engine}/memories", body, **query)
        if chosen in self.ledger.memories and self.ledger.memories[chosen].is_known(self.now):
            assert answer.status_code == 409
            return
        assert answer.status_code == 200, answer.text
        name = answer.json()["response"]["name"].rpartition("/")[2]
        assert chosen is None or name == chosen
        self.begin(answer)
        self.ledger.create(name, self.born(scope, fact), revising, ttl)

    @rule(
        pick=picks,
        fact=st.one_of(st.none(), facts),
        title=st.sampled_from([None, "A title"]),
        expiry=st.sampled_from([(False, None), (False, None), (True, None), (True, 4 * DAY)]),
        revising=revisings,
    )
    def update(
        self,
        pick: int,
        fact: str | None,
        title: str | None,
        expiry: tuple[bool, timedelta | None],
        revising: Revising,
    ) -> None:
        """Change fact or title; `ttl` in the mask without a value takes the expiry away."""
        name = self.pick(pick)
        mask = ["display_name"] + ["fact"] * bool(fact) + ["ttl"] * expiry[0]
        body = {"displayName": title, **({"fact": fact} if fact else {})}
        body |= {**wire_ttl(expiry[1]), **wire_revising(revising)}
        query = {"updateMask": ",".join(mask)}
        answer = self.bench.ask("PATCH", f"{self.engine}/memories/{name}", body, **query)
        if not self.is_live(name):
            assert answer.status_code == 404
            return
        assert answer.status_code == 200, answer.text
        self.begin(answer)
        content = (fact or self.ledger.memories[name].fact, title)
        self.ledger.update(name, self.now, content, revising, expiry)

    @rule(pick=picks, permanent=st.sampled_from([False, False, True]))
    def delete(self, pick: int, *, permanent: bool) -> None:
        name = self.pick(pick)
        query = {"permanent": "true"} if permanent else {}
        answer = self.bench.ask("DELETE", f"{self.engine}/memories/{name}", **query)
        found = self.ledger.memories.get(name)
        if found is None or not (found.is_known(self.now) if permanent else self.is_live(name)):
            assert answer.status_code == 404
        elif permanent:
            assert answer.json()["metadata"]["erased"]["revisions"] == len(found.revisions)
            self.begin(answer)
            self.ledger.erase(name)
        else:
            assert answer.status_code == 200, answer.text
            self.begin(answer)
            self.ledger.delete(name, self.now)

    @rule(pick=picks, back=st.integers(0, 4), recover=st.booleans())
    def roll_back(self, pick: int, back: int, *, recover: bool) -> None:
        """Restore one of the newest revisions, of a live memory or of a tombstone."""
        name = self.pick_deleted(pick) if recover else self.pick(pick)
        version, revision_id = self.revision(name, back)
        body = {"targetRevisionId": revision_id}
        answer = self.bench.ask("POST", f"{self.engine}/memories/{name}:rollback", body)
        found = self.ledger.memories.get(name)
        if found is None or not found.can_read(version, self.now):
            assert answer.status_code == 404
        elif found.revisions[version].action == "DELETED":
            assert answer.json()["error"]["status"] == "FAILED_PRECONDITION"
        else:
            assert answer.status_code == 200, answer.text
            self.begin(answer)
            self.ledger.roll_back(name, self.now, version)

    @rule(pick=picks, revising=revisings)
    def undelete(self, pick: int, revising: Revising) -> None:
        """Bring a tombstone back; what is live or gone is told apart."""
        name = self.pick_deleted(pick)
        path, body = f"{self.engine}/memories/{name}:undelete", wire_revising(revising)
        answer = self.bench.ask("POST", path, body)
        found = self.ledger.memories.get(name)
        if found is None or not found.is_known(self.now):
            assert answer.status_code == 404
        elif not found.is_tombstone(self.now):
            assert answer.json()["error"]["details"][0]["reason"] == "NOT_DELETED"
        else:
            assert answer.status_code == 200, answer.text
            self.begin(answer)
            self.ledger.undelete(name, self.now, revising)

    @rule(scope=scopes, given=st.lists(facts, min_size=1, max_size=3), revising=revisings)
    def generate_apart(self, scope: str, given: list[str], revising: Revising) -> None:
        """Without consolidation each fact becomes a memory, whatever is there."""
        source = {"directMemories": [{"fact": fact} for fact in given]}
        body = {"directMemoriesSource": source, "disableConsolidation": True}
        made = self.generated(scope, body, revising)
        assert [(action, fact) for _, action, fact in made] == [("CREATED", one) for one in given]
        self.follow(scope, made, revising)

    @rule(scope=scopes, given=st.lists(facts, min_size=1, max_size=3), revising=revisings)
    def generate_direct(self, scope: str, given: list[str], revising: Revising) -> None:
        """A fact that is there word by word is never there twice."""
        here = [one.fact for one in self.ledger.live(self.now).values() if one.scope == scope]
        body = {"directMemoriesSource": {"directMemories": [{"fact": one} for one in given]}}
        made = self.generated(scope, body, revising)
        assert not {fact for _, action, fact in made if action == "CREATED"} & set(here)
        assert {fact for _, action, fact in made if action != "DELETED"} <= {*given, *here}
        self.follow(scope, made, revising)

    @rule(scope=scopes, talk=st.sampled_from(TALKS), revising=revisings)
    def generate_from_talk(self, scope: str, talk: list[str], revising: Revising) -> None:
        events = [{"content": {"role": "user", "parts": [{"text": text}]}} for text in talk]
        made = self.generated(scope, {"directContentsSource": {"events": events}}, revising)
        self.follow(scope, made, revising)

    @rule(
        scope=scopes,
        way=st.sampled_from(WAYS),
        kind=st.sampled_from([None, None, "like", "home", "forget"]),
        skipped=st.integers(0, 2),
        revising=revisings,
    )
    def talk_again(
        self, scope: str, way: str, kind: str | None, skipped: int, revising: Revising
    ) -> None:
        """Send a talk that was read again, or a window of it, perhaps with a turn more.

        Whatever became of its memories, only the new turn does anything.
        """
        talk = self.talks.known(scope, way)
        old = len(talk.lines)
        new = [kind] if kind else []
        if not old:
            skipped, new = 0, ["home", "like", "forget", "like"]
        first = min(skipped, max(old - LEAST, 0))
        talk.say(self.now, *map(self.talks.new_line, new))
        source = talk.source(self.bench, self.engine, first)
        made = self.generated(scope, source, revising)
        said = talk.lines[old:]
        assert {fact for _, action, fact in made if action != "DELETED"} <= set(said)
        assert said or not made
        known = talk.sent(first) - len(said)
        assert self.details.get("knownEventCount", 0) == known, (talk, self.details)
        talk.read = self.now
        self.follow(scope, made, revising)

    @rule(
        fact=facts,
        scope=st.one_of(st.none(), scopes),
        force=st.sampled_from([True, True, False]),
        permanent=st.booleans(),
    )
    def purge(self, fact: str, scope: str | None, *, force: bool, permanent: bool) -> None:
        wanted = f'fact="{fact}"'
        if scope is not None:
            wanted = f'scope.user="{scope}"'
        body = {"filter": wanted, "force": force, "permanent": permanent}
        answer = self.bench.ask("POST", f"{self.engine}/memories:purge", body)
        assert answer.status_code == 200, answer.text
        # For good, what can still be recovered goes too.
        here = self.ledger.known(self.now) if permanent else self.ledger.live(self.now)
        chosen = [
            name
            for name, one in here.items()
            if (one.fact == fact if scope is None else one.scope == scope)
        ]
        assert answer.json()["response"]["purgeCount"] == len(chosen)
        self.begin(answer)
        for name in chosen if force else []:
            if permanent:
                self.ledger.erase(name)
            else:
                self.ledger.delete(name, self.now)

    @rule(pick=picks, labels=st.sampled_from([{}, {"source": "undo"}]))
    def undo(self, pick: int, labels: dict[str, str]) -> None:
        """Take one of the newest operations back, whatever has happened since."""
        names = [name for name in self.operations if pick >= ANY or self.traces(name)]
        if not names:
            return
        target = names[-1 - pick // 4 % len(names)]
        revising = Revising(labels=labels)
        answer = self.bench.ask("POST", f"{target}:undo", wire_revising(revising))
        if self.operations[target] + KEPT <= self.now:
            assert answer.status_code == 404
            return
        if not self.traces(target):
            assert answer.json()["error"]["details"][0]["reason"] == "NOTHING_TO_UNDO"
            return
        assert answer.status_code == 200, answer.text
        self.begin(answer)
        self.bench.work()
        told = undo_told(self.bench.ask("GET", answer.json()["name"]).json()["response"])
        expected = self.ledger.undo(target, self.now, revising)
        known = self.ledger.known(self.now)
        # Of these, the operation's own answer is all that is left.
        lost = {
            name: "REVISION_NOT_KEPT" if name in known else "ERASED"
            for name in told.keys() - expected.keys()
        }
        assert told == {**expected, **lost}
        self.check_undone(target, expected)

    def check_undone(self, target: str, undone: dict[str, str]) -> None:
        """What an undo has touched is as it was before the operation."""
        for name in (name for name, what in undone.items() if what in UNDONE):
            before, after = self.before[target].get(name), self.ledger.memories[name]
            if before is None or not before.is_live(self.operations[target]):
                assert after.deleted is not None
                continue
            assert after.is_live(self.now)
            assert (after.fact, after.title) == (before.fact, before.title)
            if before.is_live(self.now):
                assert after.expires == before.expires

    @rule(jump=st.sampled_from(JUMPS))
    def advance(self, jump: timedelta) -> None:
        self.bench.clock.advance(jump)

    @rule(pick=picks, early=st.booleans())
    def advance_to_an_end(self, pick: int, *, early: bool) -> None:
        """Go to the very moment at which something ends, or to the last one before."""
        ends = self.ledger.ends(self.now)
        if ends:
            moment = ends[pick % len(ends)] - (timedelta(microseconds=1) if early else timedelta())
            self.bench.clock.advance(moment - self.now)

    @rule()
    def sweep(self) -> None:
        self.bench.sweep()
        self.ledger.sweep(self.now)
        kept = self.operations.items()
        self.operations = {name: time for name, time in kept if time + KEPT > self.now}

    @invariant()
    def the_service_holds_what_the_model_holds(self) -> None:
        if hasattr(self, "ledger"):
            check_all(self.bench, self.engine, self.ledger)

    def begin(self, answer: httpx.Response) -> None:
        """Let the changes to come belong to the operation that an answer names."""
        name = answer.json()["name"]
        self.ledger.operation = name.rpartition("/")[2]
        self.operations[name] = self.now
        self.before[name] = dict(self.ledger.memories)

    def traces(self, operation: str) -> dict[str, int]:
        return self.ledger.traces(operation, self.now)

    def born(self, scope: str, fact: str | None) -> Memory:
        return Memory(scope, fact, None, created=self.now, updated=self.now, expires=None)

    def pick(self, number: int) -> str:
        """Return a memory: the first numbers mean live ones, the last ones any of the model's."""
        live = sorted(self.ledger.live(self.now))
        names = live if live and number < ANY else sorted(self.ledger.memories)
        return names[number % len(names)] if names else "none"

    def pick_deleted(self, number: int) -> str:
        """Return a memory: the first numbers mean tombstones."""
        names = sorted(
            name for name, one in self.ledger.memories.items() if one.is_tombstone(self.now)
        )
        return names[number % len(names)] if names and number < ANY else self.pick(number)

    def is_live(self, name: str) -> bool:
        return name in self.ledger.live(self.now)

    def revision(self, name: str, back: int) -> tuple[int, str]:
        """Return a stored revision by its place from the newest: its version and its id."""
        rows = self.bench.rows(
            "select version, revision_id from memory_revisions"
            f" where memory_id = '{name}' order by version desc"
        )
        if not rows:
            return 0, "1"
        row = rows[back % len(rows)]
        return row["version"], str(row["revision_id"])

    def generated(
        self, scope: str, body: dict[str, Any], revising: Revising
    ) -> list[tuple[str, str, str]]:
        """Run a generation; return the memories it touched, how, and their facts by now."""
        body = {"scope": {"user": scope}, **body, **wire_revising(revising)}
        answer = self.bench.ask("POST", f"{self.engine}/memories:generate", body)
        assert answer.status_code == 200, answer.text
        self.begin(answer)
        self.bench.work()
        operation = self.bench.ask("GET", answer.json()["name"]).json()
        assert operation.get("done"), operation
        self.details = operation["metadata"]
        stored = {
            row["memory_id"]: row["fact"] for row in self.bench.rows("select * from memories")
        }
        found = []
        for one in operation["response"].get("generatedMemories", []):
            name = one["memory"]["name"].rpartition("/")[2]
            known = self.ledger.memories.get(name)
            has_history = known and any(r.expires > self.now for r in known.revisions.values())
            assert ("previousRevision" in one) == bool(has_history)
            found.append((name, one["action"], stored[name]))
        return found

    def follow(self, scope: str, made: list[tuple[str, str, str]], revising: Revising) -> None:
        """Do in the model what a generation says it has done, where it may do so."""
        for name, action, fact in made:
            if action == "CREATED":
                self.ledger.generated(name, self.born(scope, fact), revising)
                continue
            assert self.is_live(name)
            assert self.ledger.memories[name].scope == scope
            if action == "UPDATED":
                self.ledger.regenerated(name, self.now, fact, revising)
            else:
                assert action == "DELETED"
                self.ledger.delete(name, self.now, revising)


@pytest.fixture
def bench(database_url: str, data_dir: Path) -> Iterator[Bench]:
    found = Bench(database_url, Settings(data_dir=data_dir))
    yield found
    found.close()


def test_the_ledger_keeps_to_its_model(bench: Bench) -> None:
    class Machine(LedgerMachine):
        pass

    Machine.bench = bench
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            # No shrinking: it takes minutes, and a failure has a few steps as it is.
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
