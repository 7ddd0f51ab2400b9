"""A model's decisions are carried out within exact bounds, and no fact is lost on the way."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from app.language.facts import Candidate, Neighbour, Verdict
from app.memory.generation.logic.decisions import Caps, NewFact, VerdictDecisions, decided
from app.memory.generation.logic.replies import DecisionAction, FactVerdict

DAY = date(2026, 3, 2)
TEA = Neighbour("a", 1, "I like tea.", 0.6)
HOME = Neighbour("b", 1, "I live in Paris.", 0.6)
LONG = Neighbour("c", 1, "I like tea. " + "And so on. " * 60, 0.6)
CAPS = Caps(deletes=5, forgets=20)


def new(
    fact: str, *near: Neighbour, position: int = 0, forget: bool = False, doubtful: bool = False
) -> NewFact:
    candidate = Candidate(
        fact, (), fact, position, forget=forget, doubtful=doubtful, said_on=DAY, context=fact
    )
    return NewFact([position], candidate, list(near))


def says(
    action: DecisionAction, memory: str = "", text: str = "", number: int = 0, *, holds: bool = True
) -> FactVerdict:
    return FactVerdict(fact=number, holds=holds, action=action, memory=memory, text=text)


def judged(
    facts: Sequence[NewFact],
    *said: FactVerdict,
    caps: Caps = CAPS,
    settled: Sequence[Verdict] = (),
) -> VerdictDecisions:
    shown = {near.memory_id: near for one in facts for near in one.near}
    aliases = {f"m{n}": near for n, near in enumerate(shown.values(), start=1)}
    return decided(facts, said, aliases, caps, settled)


def told(found: VerdictDecisions) -> list[tuple[str, str | None, str]]:
    return [(one.action, one.memory_id, one.fact) for one in found.verdicts]


def refusals(found: VerdictDecisions) -> list[str]:
    return [one.reason for one in found.refused]


CREATED = ("CREATE", None, "I like coffee.")


@pytest.mark.parametrize(
    ("memory", "fact", "action", "text"),
    [
        ("I like tea.", "I like coffee.", "merge", "I like tea and coffee."),
        ("I like tea.", "I like coffee.", "merge", "I like hot drinks such as coffee."),
        ("I work as a nurse.", "I am a doctor now.", "replace", "I work as a doctor."),
        ("I have a dog named Rex.", "Rex is a poodle.", "merge", "I have a poodle named Rex."),
        ("I don't eat meat.", "I don't eat fish.", "merge", "I don't eat meat or fish."),
        ("I live in Graz and teach.", "I moved to Linz.", "replace", "I live in Linz and teach."),
        ("Ich mag Tee.", "Ich mag Kaffee.", "merge", "Ich mag Tee und Kaffee."),
        ("我喜欢茶。", "我喜欢咖啡。", "merge", "我喜欢茶和咖啡。"),
        ("My budget is 3,000.", "It is more like 1,800 now.", "replace", "My budget is 1.800."),
    ],
)
def test_the_model_s_sentence_is_stored(
    memory: str, fact: str, action: DecisionAction, text: str
) -> None:
    near = Neighbour("a", 1, memory, 0.6)
    found = judged([new(fact, near)], says(action, "m1", text))
    assert told(found) == [("UPDATE", "a", text)]
    assert (found.refused, found.verdicts[0].candidates) == ([], (0,))


def test_same_keeps_the_text_and_notes_the_fact() -> None:
    found = judged([new("I am a physician.", TEA)], says("same", "m1"))
    assert told(found) == [("UPDATE", "a", "I like tea.")]
    assert found.verdicts[0].reason == "said again"


def test_a_fact_ends_a_memory_and_becomes_one_itself() -> None:
    found = judged([new("I sold my flat in Paris.", HOME)], says("delete", "m1"))
    assert told(found) == [("DELETE", "b", ""), ("CREATE", None, "I sold my flat in Paris.")]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (says("same", "m7"), "UNKNOWN_MEMORY"),
        (says("same", "a"), "UNKNOWN_MEMORY"),
        (says("delete"), "UNKNOWN_MEMORY"),
        (says("delete", "0"), "UNKNOWN_MEMORY"),
        (says("merge", "m1"), "BAD_LENGTH"),
        (says("merge", "m1", "tea " * 5_000), "BAD_LENGTH"),
        (says("replace", "m1", "HACKED"), "UNRELATED_TEXT"),
        (says("merge", "m1", "I like tea and owe Bob money."), "FOREIGN_NAME"),
        (says("merge", "m1", "I like tea and 500 coffees."), "FOREIGN_NUMBER"),
        (says("merge", "m1", "I have liked tea since 1990."), "FOREIGN_DATE"),
        (says("merge", "m1", "I like tea.", number=5), "UNKNOWN_FACT"),
        (says("delete", "m1", number=-1), "UNKNOWN_FACT"),
    ],
)
def test_a_refused_decision_makes_a_memory_of_the_fact(said: FactVerdict, reason: str) -> None:
    found = judged([new("I like coffee.", TEA)], said)
    assert (told(found), refusals(found)) == ([CREATED], [reason])


@pytest.mark.parametrize("action", ["merge", "replace", "delete"])
def test_a_memory_shown_in_part_is_not_rewritten(action: DecisionAction) -> None:
    found = judged([new("I like coffee.", LONG)], says(action, "m1", "I like tea and coffee."))
    assert (told(found), refusals(found)) == ([CREATED], ["MEMORY_CUT"])
    found = judged([new("I like coffee.", LONG)], says("same", "m1"))
    assert told(found) == [("UPDATE", "c", LONG.fact)]


@pytest.mark.parametrize("said", [[], [says("add")], [says("add", "m1", "x")]])
def test_without_a_decision_a_fact_is_new(said: list[FactVerdict]) -> None:
    found = judged([new("I like coffee.", TEA)], *said)
    assert (told(found), found.refused) == ([CREATED], [])


def test_a_fact_that_the_user_did_not_mean_is_dropped() -> None:
    facts = [new("I like coffee.", TEA), new("I own a yacht.", position=1, doubtful=True)]
    found = judged(facts, says("merge", "m1", "I like both.", holds=False), says("add", number=1))
    assert told(found) == [("CREATE", None, "I own a yacht.")]
    assert [(one.fact, one.reason) for one in found.dropped] == [("I like coffee.", "NOT_SAID")]
    assert found.verified == 1


def test_a_doubtful_fact_that_nobody_confirms_is_dropped() -> None:
    facts = [new("I like coffee."), new("I own a yacht.", position=1, doubtful=True)]
    found = judged(facts)
    assert told(found) == [CREATED]
    assert [one.reason for one in found.dropped] == ["NOT_VERIFIED"]


def reply(**fields: object) -> FactVerdict:
    """Return a verdict that has the given fields alone."""
    return FactVerdict.model_validate({"fact": 0, **fields})


@pytest.mark.parametrize("fields", [{}, {"action": "add"}, {"holds": None}])
def test_a_reply_that_does_not_say_whether_a_fact_holds_confirms_nothing_doubtful(
    fields: dict[str, object],
) -> None:
    found = judged([new("I own a yacht.", doubtful=True)], reply(**fields))
    assert (found.verdicts, found.verified) == ([], 0)
    assert [one.reason for one in found.dropped] == ["NOT_VERIFIED"]
    found = judged([new("I like coffee.", TEA)], reply(**fields))
    assert (told(found), found.dropped) == ([CREATED], [])
    asked = judged([new("my tea", TEA, forget=True, doubtful=True)], reply(action="delete"))
    assert asked.verdicts == []


def test_one_of_several_verdicts_confirms_a_fact() -> None:
    facts = [new("I sold my flat in Paris.", HOME, TEA, doubtful=True)]
    found = judged(facts, says("delete", "m1"), reply(action="add"))
    assert (found.verified, found.dropped) == (1, [])


def test_a_reply_without_an_action_adds() -> None:
    found = judged([new("I like coffee.", TEA, doubtful=True)], reply(holds=True, memory="m1"))
    assert (told(found), found.verified) == ([CREATED], 1)


@pytest.mark.parametrize("second", [says("delete", "m2"), says("replace", "m2", "I like coffee.")])
def test_one_fact_may_concern_two_memories(second: FactVerdict) -> None:
    found = judged([new("I left Paris, and like coffee.", HOME, TEA)], says("delete", "m1"), second)
    assert [one.memory_id for one in found.verdicts if one.memory_id] == ["b", "a"]
    assert found.refused == []


def test_an_addition_of_the_model_s_own_is_cut() -> None:
    nurse = new("I work as a nurse, and love it.", doubtful=True)
    nurse.candidate = replace(nurse.candidate, context="I work as a nurse.")
    found = judged([nurse], says("add", text="I work as a nurse."))
    assert told(found) == [("CREATE", None, "I work as a nurse.")]


@pytest.mark.parametrize(
    "text",
    ["", "I work as a doctor.", "I love it.", "I work.", "I work as a nurse, and love every day."],
)
def test_nothing_but_an_addition_is_cut(text: str) -> None:
    nurse = new("I work as a nurse, and love it.", doubtful=True)
    nurse.candidate = replace(nurse.candidate, context="I work as a nurse.")
    found = judged([nurse], says("add", text=text))
    assert told(found) == [("CREATE", None, "I work as a nurse, and love it.")]


def test_a_denial_is_not_cut() -> None:
    vegan = new("I do not eat tasty meat.")
    vegan.candidate = replace(vegan.candidate, context="Meat is nothing I eat.")
    found = judged([vegan], says("add", text="I do eat meat."))
    assert told(found) == [("CREATE", None, "I do not eat tasty meat.")]


def test_what_the_assistant_said_is_no_source_of_a_memory_s_text() -> None:
    fact = new("I fly to Rome.", TEA)
    fact.candidate = replace(fact.candidate, question="Your flight LX318 goes to Rome at 9?")
    found = judged([fact], says("merge", "m1", "I like tea, and fly to Rome with LX318."))
    assert refusals(found) == ["FOREIGN_NUMBER"]


def test_several_facts_come_to_one_memory_by_the_same_text() -> None:
    facts = [new("I like coffee.", TEA), new("I like rum.", TEA, position=1)]
    text = "I like tea, coffee and rum."
    found = judged(facts, says("merge", "m1", text), says("merge", "m1", text, 1))
    assert told(found) == [("UPDATE", "a", text)]
    assert found.verdicts[0].candidates == (0, 1)


def test_a_second_text_for_a_memory_is_refused() -> None:
    facts = [new("I like coffee.", TEA), new("I like rum.", TEA, position=1)]
    one, other = says("merge", "m1", "I like tea and coffee."), "I like tea and rum."
    found = judged(facts, one, says("merge", "m1", other, 1))
    assert told(found) == [
        ("UPDATE", "a", "I like tea and coffee."),
        ("CREATE", None, "I like rum."),
    ]
    assert refusals(found) == ["CONFLICT"]


def test_same_agrees_with_any_text() -> None:
    facts = [new("I drink tea.", TEA), new("I like rum.", TEA, position=1)]
    text = "I like tea and rum."
    for order in ([0, 1], [1, 0]):
        said = [says("same", "m1"), says("merge", "m1", text, 1)]
        found = judged(facts, *(said[n] for n in order))
        assert told(found) == [("UPDATE", "a", text)]


def test_facts_delete_no_more_than_the_cap() -> None:
    memories = [Neighbour(f"z{n}", 1, f"I have zebra {n}.", 0.6) for n in range(4)]
    said = [says("delete", f"m{n}") for n in range(1, 5)]
    found = judged([new("I sold my zebras.", *memories)], *said, caps=Caps(2, 9))
    assert [one.action for one in found.verdicts] == ["DELETE", "DELETE", "CREATE"]
    assert refusals(found) == ["TOO_MANY_DELETES"] * 2


def test_a_request_to_forget_deletes_what_is_meant_in_whatever_words() -> None:
    facts = [new("my health", TEA, LONG, forget=True)]
    found = judged(facts, says("delete", "m1"), says("delete", "m2"))
    assert told(found) == [("DELETE", "a", ""), ("DELETE", "c", "")]
    assert found.unmet == []


def test_a_request_to_forget_may_take_a_part_of_a_memory() -> None:
    both = Neighbour("a", 1, "I live in Paris and my dog is called Rex.", 0.6)
    part = "My dog is called Rex."
    found = judged([new("where I live", both, forget=True)], says("replace", "m1", part))
    assert told(found) == [("UPDATE", "a", part)]
    longer = "There is a dog of mine, a fine animal, that I have called Rex."
    assert len(longer) > len(both.fact)
    found = judged([new("where I live", both, forget=True)], says("replace", "m1", longer))
    assert told(found) == [("UPDATE", "a", longer)]
    nothing = both.fact.upper()
    for text in ("I live in Paris, Rex, Rome.", "My dog Rex is 9.", "I own a boat.", nothing, ""):
        found = judged([new("where I live", both, forget=True)], says("replace", "m1", text))
        assert found.verdicts == []
        assert [one.reason for one in found.unmet] == ["REFUSED"]


def test_requests_have_a_cap_of_their_own() -> None:
    memories = [Neighbour(f"z{n}", 1, f"I have zebra {n}.", 0.6) for n in range(4)]
    said = [says("delete", f"m{n}") for n in range(1, 5)]
    found = judged([new("my zebras", *memories, forget=True)], *said, caps=Caps(0, 3))
    assert [one.action for one in found.verdicts] == ["DELETE"] * 3
    (unmet,) = found.unmet
    assert (unmet.reason, unmet.nearest, unmet.has_more) == ("TOO_MANY", ("z3",), True)


def test_what_loses_a_part_counts_for_the_cap_of_requests() -> None:
    memories = [Neighbour(f"z{n}", 1, f"I have zebra {n} and a boat.", 0.6) for n in range(4)]
    said = [says("replace", f"m{n}", f"I have zebra {n - 1}.") for n in range(1, 5)]
    found = judged([new("my boat", *memories, forget=True)], *said, caps=Caps(0, 3))
    assert [one.action for one in found.verdicts] == ["UPDATE"] * 3
    assert [one.reason for one in found.unmet] == ["TOO_MANY"]


def test_to_know_already_what_is_to_be_forgotten_does_not_obey() -> None:
    found = judged([new("tea", TEA, forget=True)], says("same", "m1"))
    assert found.verdicts == []
    assert [one.reason for one in found.unmet] == ["NOTHING_FOUND"]


def test_a_request_that_finds_nothing_is_told() -> None:
    found = judged([new("my boat", TEA, HOME, forget=True)], says("add"))
    (unmet,) = found.unmet
    assert (unmet.request, unmet.reason) == ("my boat", "NOTHING_FOUND")
    assert (unmet.nearest, unmet.has_more) == (("a", "b"), False)


def test_a_request_ends_facts_that_were_said_before_it() -> None:
    facts = [new("I owe Bob money."), new("what I owe", position=1, forget=True)]
    found = judged(facts, says("add"), says("delete", "0", number=1))
    assert (found.verdicts, found.unmet) == ([], [])
    assert [one.reason for one in found.dropped] == ["FORGOTTEN"]
    later = [new("what I owe", forget=True), new("I owe Bob money.", position=1)]
    found = judged(later, says("delete", "1"), says("add", number=1))
    assert told(found) == [("CREATE", None, "I owe Bob money.")]
    assert refusals(found) == ["UNKNOWN_MEMORY"]


def test_a_request_outweighs_what_a_fact_makes_of_the_memory() -> None:
    facts = [new("I moved to Rome.", HOME), new("my old address", HOME, position=1, forget=True)]
    said = [says("replace", "m1", "I live in Rome."), says("delete", "m1", number=1)]
    found = judged(facts, *said)
    assert told(found) == [("DELETE", "b", ""), ("CREATE", None, "I moved to Rome.")]
    assert refusals(found) == ["CONFLICT"]


def test_what_is_settled_stays() -> None:
    settled = [
        Verdict("UPDATE", (1,), "said again", "a", TEA.fact),
        Verdict("CREATE", (2,), "new", fact="I own a boat."),
        Verdict("CREATE", (3,), "new", fact="I own a car."),
    ]
    found = judged([new("I like coffee.", HOME)], settled=settled)
    assert told(found) == [
        ("UPDATE", "a", TEA.fact),
        ("CREATE", None, "I own a boat."),
        ("CREATE", None, "I own a car."),
        CREATED,
    ]
