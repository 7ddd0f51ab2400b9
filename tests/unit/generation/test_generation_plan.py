"""Verdicts to changes."""

from dataclasses import replace

from app.language.facts import PERSONAL, PREFERENCES, Candidate, Neighbour, Verdict
from app.memory.generation.logic.plan import PlannedChange, QuotedFact, considered, plan
from app.platform.engines.logic.topics import MAX_FACT_CHARS

TEA = Candidate("I like tea.", (PREFERENCES,), "Me? I like tea.")
ROME = Candidate("I live in Rome.")
_TEA, _ROME = QuotedFact("I like tea.", "Me? I like tea."), QuotedFact("I live in Rome.", "")
SHOWN = [[Neighbour("m1", 4, "I like coffee.", 0.5, (PERSONAL,))], []]


def planned(*verdicts: Verdict, max_deletes: int = 5) -> list[PlannedChange]:
    return list(plan([TEA, ROME], SHOWN, verdicts, max_deletes=max_deletes).changes)


def test_each_kind_of_change() -> None:
    changes = planned(
        Verdict("CREATE", (1,), "new", fact="I live in Rome."),
        Verdict("UPDATE", (0, 1), "said again", "m1", "I like tea."),
    )
    assert changes == [
        PlannedChange("CREATED", None, None, "I live in Rome.", (), (_ROME,), "new", (0,)),
        PlannedChange(
            "UPDATED",
            "m1",
            4,
            "I like tea.",
            (PREFERENCES,),
            (_TEA, _ROME),
            "said again",
            (0, 0),
        ),
    ]


def test_an_update_without_topics_keeps_those_of_the_memory() -> None:
    changes = planned(Verdict("UPDATE", (1,), "", "m1", "x"))
    assert changes[0].topics == (PERSONAL,)


def test_a_deletion_tells_what_was_deleted() -> None:
    changes = planned(Verdict("DELETE", (0,), "asked to forget", "m1"))
    assert (changes[0].action, changes[0].fact, changes[0].topics) == (
        "DELETED",
        "I like coffee.",
        (PERSONAL,),
    )


def test_verdicts_that_name_nothing_shown_are_left_out() -> None:
    changes = planned(
        Verdict("UPDATE", (0,), "", "m9", "x"),
        Verdict("DELETE", (0,), "", "m9"),
        Verdict("DELETE", (0,), ""),
        Verdict("CREATE", (0,), "", "m1", "x"),
        Verdict("CREATE", (7,), "", fact="x"),
        Verdict("CREATE", (0,), "", fact=" "),
        Verdict("UPDATE", (0,), "", "m1", ""),
    )
    assert changes == []


def test_a_memory_changes_once_and_a_text_is_created_once() -> None:
    changes = planned(
        Verdict("UPDATE", (0,), "", "m1", "x"),
        Verdict("DELETE", (0,), "", "m1"),
        Verdict("CREATE", (1,), "", fact="I live in Rome."),
        Verdict("CREATE", (1,), "", fact="i live in ROME"),
    )
    assert [one.fact for one in changes] == ["x", "I live in Rome."]


def test_deletions_are_capped() -> None:
    assert planned(Verdict("DELETE", (0,), "", "m1"), max_deletes=0) == []


def test_of_too_many_candidates_the_last_and_the_requests_to_forget_are_considered() -> None:
    forget = Candidate("my address", forget=True)
    said = [Candidate("a"), forget, Candidate("b"), Candidate("c")]
    assert considered(said, 4) == said
    assert considered(said, 2) == [forget, said[3]]
    assert considered(said, 1) == [forget]


def test_the_context_has_each_quote_once_and_a_bound() -> None:
    said = [QuotedFact("a", "I sing."), QuotedFact("b", ""), QuotedFact("c", "I sing.")]
    change = PlannedChange("CREATED", None, None, "a", (), (*said, QuotedFact("d", "Yes.")), "new")
    assert change.context == "I sing.\nYes."
    assert replace(change, extracted=(QuotedFact("b", ""),)).context is None
    long = replace(change, extracted=(QuotedFact("a", "x" * 20_000), *said))
    assert long.context == "x" * MAX_FACT_CHARS
    assert long.extracted_memories()[0] == {"fact": "a", "context": "x" * MAX_FACT_CHARS}
