"""Replies as weak models write them: what is good is taken, what is bad is counted."""

import json
from collections.abc import Sequence
from time import process_time
from typing import Any

import pytest

from app.adapters.llm.ports import Meter, Prompt
from app.adapters.llm.replies import CutText, InvalidReply, parse
from app.kernel.wire.model_entries import EntryTally
from app.memory.generation.logic.replies import (
    ExtractedFact,
    ExtractedField,
    Facts,
    FactsAndFields,
    FactVerdict,
    FactVerdicts,
    Fields,
)
from tests.support.scripted_models import ScriptedTextModel

Json = dict[str, Any]
ONE: Json = {
    "fact": "I like tea.",
    "quote": "like tea",
    "line": 0,
    "topics": ["A"],
    "forget": False,
}
TWO: Json = {**ONE, "fact": "I have a dog.", "quote": "a dog", "line": 2}
THREE: Json = {**ONE, "fact": "I live in Graz.", "quote": "live in Graz", "line": 4}
FIELD: Json = {"profile": "p", "field": "city", "value": "Graz", "quote": "in Graz", "line": 4}


def facts(*entries: Any) -> str:
    return json.dumps({"facts": list(entries)})


def read(reply: str) -> Facts:
    return parse(reply, Facts)


def told(reply: Facts) -> list[str]:
    return [one.fact for one in reply.facts]


def tally(sound: int = 0, mended: int = 0, unreadable: int = 0) -> EntryTally:
    return EntryTally(sound, mended, unreadable)


BOTH = [ONE["fact"], TWO["fact"]]
ALL = [*BOTH, THREE["fact"]]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (f"{facts(ONE)}\n{facts(TWO)}", BOTH),
        (f"```json\n{facts(ONE)}\n```\nAnd:\n```json\n{facts(TWO)}\n```", BOTH),
        (f"First {facts(ONE)}, then {facts(ONE, TWO)}.", BOTH),
        (f"{facts(ONE, TWO)}\n{facts()}", BOTH),
        (f"{facts(ONE, TWO)} {{}}", BOTH),
        (f"{facts()}\n{facts(ONE, TWO)}", BOTH),
        ("\n".join(map(json.dumps, (ONE, TWO, THREE))), ALL),
        ("\n".join(map(facts, (ONE, TWO, THREE))), ALL),
        (f"```\n{json.dumps(ONE)}\n{json.dumps(TWO)}\n{json.dumps(THREE)}\n```", ALL),
        (json.dumps([ONE, TWO]), BOTH),
        (f"Here they are: {json.dumps([ONE, TWO])}", BOTH),
        (json.dumps([{"facts": [ONE]}, {"facts": [TWO]}]), BOTH),
        (json.dumps({"answer": {"facts": [ONE, TWO]}}), BOTH),
        (json.dumps({"result": {"answer": {"facts": [ONE, TWO]}}}), BOTH),
        (json.dumps({"output": [ONE, TWO]}), BOTH),
        (json.dumps({"name": "answer", "arguments": facts(ONE, TWO)}), BOTH),
        (json.dumps({"type": "object", "properties": {"facts": [ONE, TWO]}}), BOTH),
        (json.dumps({"properties": {"facts": [ONE, TWO]}, "required": ["facts"]}), BOTH),
        (json.dumps({**Facts.model_json_schema(), "facts": [ONE, TWO]}), BOTH),
        (json.dumps(ONE), BOTH[:1]),
        (json.dumps({"facts": ONE}), BOTH[:1]),
        (json.dumps({"facts": json.dumps([ONE, TWO])}), BOTH),
        (f"<think>{facts(THREE)}</think>{facts(ONE, TWO)}", BOTH),
        (json.dumps({"Facts": [{name.title(): part for name, part in ONE.items()}]}), BOTH[:1]),
        (json.dumps([{name.upper(): part for name, part in ONE.items()}]), BOTH[:1]),
        (json.dumps({"ANSWER": {"FACTS": [ONE, TWO]}}), BOTH),
        ("[]", []),
        ('{"facts": null}', []),
        ('{"answer": {"facts": null}}', []),
    ],
)
def test_all_objects_count_whatever_wraps_them(reply: str, expected: list[str]) -> None:
    assert told(read(reply)) == expected


@pytest.mark.parametrize(
    "reply",
    [
        facts(ONE).removesuffix("]}") + ",]}",
        facts(ONE).removesuffix("}]}") + ",},],}",
        facts(ONE).replace("[{", "[ // the facts\n{"),
        facts(ONE).replace("[{", "[ /* the facts */ {"),
        facts(ONE).replace("{", "{ # facts\n", 1),
        repr({"facts": [ONE]}),
        repr({"facts": [{**ONE, "forget": False, "note": None}]}),
        "Of course! ```python\n" + repr({"facts": [ONE]}) + "\n```",
        facts(ONE).replace('"like tea"', r'"like\' tea"'),
        facts({**ONE, "forget": "F"}).replace('"F"', "False"),
        facts(ONE).removesuffix("}"),
        facts(ONE).removesuffix("]}"),
        '{facts: [{fact: "I like tea.", quote: "like tea", line: 0}]}',
        facts(ONE).replace('"facts"', "\u201cfacts\u201d"),
        facts(ONE).replace(', "line"', ' "line"'),
    ],
)
def test_what_is_nearly_json_is_read_and_counted_as_mended(reply: str) -> None:
    found = read(reply)

    assert told(found) == BOTH[:1]
    assert found.tallies == {"facts": tally(mended=1)}


@pytest.mark.parametrize("blank", ["\n", "\t", "\r\n"])
def test_a_raw_line_end_within_a_text_is_taken(blank: str) -> None:
    assert told(read(facts(ONE).replace("I like tea", f"I like{blank}tea"))) == [
        f"I like{blank}tea."
    ]


_A, _B, _C = (f'{{"fact": "{sign}", "quote": "said {sign}", "line": 0}}' for sign in "ABC")
_INCH = '{"fact": "A 5" screen [x", "quote": "said A", "line": 0}'


def _in_list(*entries: str) -> str:
    return f'{{"facts": [{", ".join(entries)}]}}'


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (_in_list(_INCH, _B), ['A 5" screen [x', "B"]),
        (_in_list(_B, _INCH, _C), ["B", 'A 5" screen [x', "C"]),
        (_in_list(_B, _INCH), ["B", 'A 5" screen [x']),
        (_in_list(_INCH, _B) + "\n" + _in_list(_C + ","), ['A 5" screen [x', "B", "C"]),
        (_in_list(_A.replace('A", "quote', 'A, "quote'), _B), ["A", "B"]),
        (_in_list(_A.replace('A", "quote', 'A,\n "quote'), _B), ["A", "B"]),
        (_in_list(_A.replace('"A"', 'A"'), _B), ["A", "B"]),
        (_in_list('{"fact": "A", "quote": "said A}', _B), ["A", "B"]),
        (_in_list(_B, '{"fact": "A", "quote": "said A}'), ["B", "A"]),
        ("```\n" + _in_list(_B, '{"fact": "A", "quote": "said A}') + "\n```", ["B", "A"]),
        (_in_list(_A.replace('"A"', '"He said "yes", and left {"'), _B),
         ['He said "yes", and left {', "B"]),
        (_in_list(_A.replace('"A"', '"A", [x"'), _B), ["A", "B"]),
        (_in_list(f"{_INCH} {_B}"), ['A 5" screen [x', "B"]),
        (_in_list(_A[:-1], _B), ["A", "B"]),
        (repr({"facts": [{"fact": 'He said "hi" {to me', "quote": "A"}, {**TWO, "fact": "B"}]}),
         ['He said "hi" {to me', "B"]),
        ("{'facts': [{'fact': '5\" [', 'quote': 'A'}, {'fact': '7\" {', 'quote': 'A'}]}",
         ['5" [', '7" {']),
    ],
)  # fmt: skip
def test_an_odd_quotation_mark_costs_no_entry(reply: str, expected: list[str]) -> None:
    found = read(reply)

    assert told(found) == expected
    assert not found.cut


def test_an_odd_quotation_mark_takes_no_field_from_the_next_list() -> None:
    cut_short = '{"fact": "A", "quote": "said A}'
    reply = _in_list(_B, cut_short).removesuffix("}") + f', "fields": [{json.dumps(FIELD)}]}}'

    found = parse(reply, FactsAndFields)

    assert ([one.fact for one in found.facts], len(found.fields)) == (["B", "A"], 1)


def _talk(count: int) -> list[Json]:
    words = "in words as ordinary as those of most talks, of no great length"
    return [{**ONE, "fact": f"Fact {n} {words}.", "quote": f"{n} {words}"} for n in range(count)]


@pytest.mark.parametrize(
    ("reply", "count"),
    [
        (facts(*_talk(250)).removesuffix("]}") + ",]}", 250),
        ("[" + facts(*_talk(250)).removesuffix("]}") + ",]}]", 250),
        (repr({"facts": _talk(400)}), 400),
        (_in_list(*[_INCH.replace("A 5", f"{n} 5") for n in range(500)]), 500),
    ],
    ids=["one comma", "wrapped", "single quotes", "odd quotes"],
)
def test_a_long_reply_that_is_nearly_json_is_read(reply: str, count: int) -> None:
    found = read(reply)

    assert len(found.facts) == count
    assert found.tallies == {"facts": tally(mended=count)}


def test_of_entries_that_are_too_long_to_be_mended_the_sound_ones_are_kept() -> None:
    apostrophes = "{'fact': 'A" + "'" * 9_000 + ", 'quote': 'A'}"

    found = read(_in_list(_A, *[apostrophes] * 40, _B, "'"))

    assert told(found)[:: len(found.facts) - 1] == ["A", "B"]
    assert found.tallies["facts"].unreadable > 30


def test_a_broken_object_beside_a_sound_one_costs_nothing() -> None:
    broken = facts(ONE).removesuffix("]}") + ",]}"

    assert told(read(f"{broken}\nSee {{this}} and [that].\n{facts(TWO)}")) == BOTH


LOST: list[Any] = [
    {"fact": "No quote."},
    {"quote": "no fact"},
    {"fact": None, "quote": "null"},
    {"fact": {"deep": 1}, "quote": "an object"},
    "a text",
    None,
    7,
    [],
    {},
    {**ONE, "line": {"at": 1}},
    {**ONE, "topics": 7},
    {**ONE, "forget": "perhaps"},
]


@pytest.mark.parametrize("lost", LOST)
def test_one_bad_entry_costs_one_entry(lost: Any) -> None:
    found = read(facts(ONE, lost, TWO))

    assert told(found) == BOTH
    assert found.tallies == {"facts": tally(sound=2, unreadable=1)}


@pytest.mark.parametrize(
    ("malformed", "mended"),
    [
        ({"topics": "A"}, {}),
        ({"topics": "A, B"}, {"topics": ["A", "B"]}),
        ({"topics": "[A]"}, {}),
        ({"topics": [{"label": "A"}]}, {}),
        ({"topics": None}, {"topics": []}),
        ({"line": "0"}, {}),
        ({"line": "line 0"}, {}),
        ({"line": 0.0}, {}),
        ({"line": [0]}, {}),
        ({"line": None}, {"line": -1}),
        ({"quote": ["like tea"]}, {}),
        ({"quote": ["like", "tea"]}, {"quote": "like ... tea"}),
        ({"quote": "like\x00 tea"}, {}),
        ({"fact": "I like tea.\ud800"}, {}),
        ({"fact": 42}, {"fact": "42"}),
        ({"forget": "false"}, {}),
        ({"forget": None}, {}),
        ({"sure": True}, {}),
    ],
)
def test_a_malformed_field_is_mended(malformed: Json, mended: Json) -> None:
    (found,) = read(facts({**ONE, **malformed})).facts

    assert found == ExtractedFact(**{**ONE, **mended})


@pytest.mark.parametrize(
    ("said", "action", "memory"),
    [
        ({"action": "none"}, "add", ""),
        ({"action": "NOOP"}, "add", ""),
        ({"action": "no change", "memory": "m1"}, "same", "m1"),
        ({"action": "none", "memory": "none"}, "add", "none"),
        ({"action": "MERGE", "memory": "m1"}, "merge", "m1"),
        ({"action": " Merge. ", "memory": "m1"}, "merge", "m1"),
        ({"action": "update", "memory": "m1"}, "replace", "m1"),
        ({"action": "Remove", "memory": 1}, "delete", "1"),
        ({"action": None, "memory": None}, "add", ""),
        ({"action": "add", "fact": "0"}, "add", ""),
        ({"action": "add", "fact": "Fact 0"}, "add", ""),
        ({"Action": "Same", "MEMORY": "m1"}, "same", "m1"),
    ],
)
def test_a_verdict_in_other_words_is_understood(said: Json, action: str, memory: str) -> None:
    reply = json.dumps({"verdicts": [{"fact": 0, "holds": "true", **said}]})

    (found,) = parse(reply, FactVerdicts).verdicts

    assert (found.fact, found.holds, found.action, found.memory) == (0, True, action, memory)


def test_of_two_objects_with_a_verdict_about_one_fact_and_memory_the_last_counts() -> None:
    same, merge, other = (
        {"fact": 0, "holds": True, "action": action, "memory": memory, "text": ""}
        for action, memory in (("same", "m1"), ("merge", "m1"), ("same", "m2"))
    )

    apart = "\n".join(json.dumps({"verdicts": [one]}) for one in (same, other, merge))
    together = json.dumps({"verdicts": [same, other, merge]})

    assert parse(apart, FactVerdicts).verdicts == [FactVerdict(**other), FactVerdict(**merge)]
    # In one object they contradict each other, which the check of decisions settles.
    assert len(parse(together, FactVerdicts).verdicts) == 3


@pytest.mark.parametrize("name", ["1", 1, "M1", "[m1]", "memory 1", "memory m1"])
def test_a_memory_is_the_same_however_later_objects_name_it(name: object) -> None:
    first = {"fact": 0, "holds": True, "action": "same", "memory": "m1"}
    later = first | {"action": "merge", "memory": name}

    reply = "\n".join(json.dumps({"verdicts": [one]}) for one in (first, later))

    (found,) = parse(reply, FactVerdicts).verdicts
    assert found.action == "merge"


@pytest.mark.parametrize("name", ["m2", "11", "m", "none"])
def test_another_memory_is_another_verdict(name: str) -> None:
    first = {"fact": 0, "holds": True, "action": "same", "memory": "m1"}
    later = first | {"action": "merge", "memory": name}

    reply = "\n".join(json.dumps({"verdicts": [one]}) for one in (first, later))

    assert len(parse(reply, FactVerdicts).verdicts) == 2


@pytest.mark.parametrize(
    ("word", "holds"),
    [("maybe", None), ("unclear", None), (None, None), ("Yes", True), ("no", False), (1, True)],
)
def test_a_verdict_that_is_neither_yes_nor_no_confirms_nothing(
    word: object, *, holds: bool | None
) -> None:
    reply = json.dumps({"verdicts": [{"fact": 0, "holds": word, "action": "add"}]})

    (found,) = parse(reply, FactVerdicts).verdicts

    assert found.holds is holds


def test_a_number_that_is_too_long_costs_one_entry() -> None:
    found = read(facts(ONE, {**TWO, "line": "N"}, THREE).replace('"N"', "9" * 5_000))

    assert told(found) == [ONE["fact"], THREE["fact"]]
    assert found.tallies == {"facts": tally(mended=2, unreadable=1)}


def test_an_unknown_action_costs_one_verdict() -> None:
    sound: Json = {"fact": 1, "holds": True, "action": "add"}

    found = parse(json.dumps({"verdicts": [{**sound, "action": "ponder"}, sound]}), FactVerdicts)

    assert [one.fact for one in found.verdicts] == [1]
    assert found.tallies == {"verdicts": tally(sound=1, unreadable=1)}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Graz", "Graz"),
        (4, "4"),
        (True, "true"),
        (["a", "b"], '["a", "b"]'),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_a_field_takes_its_value_in_any_type(value: object, text: str) -> None:
    (found,) = parse(
        json.dumps({"fields": [{**FIELD, "value": value, "action": "UPDATE"}]}), Fields
    ).fields

    assert found == ExtractedField(**{**FIELD, "value": text})


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"facts": [ONE], "fields": [FIELD]}),
        f"{facts(ONE)}\n{json.dumps({'fields': [FIELD]})}",
        f"{json.dumps(ONE)}\n{json.dumps(FIELD)}",
        json.dumps([ONE, FIELD]),
    ],
)
def test_facts_and_fields_are_told_apart(reply: str) -> None:
    found = parse(reply, FactsAndFields)

    assert (len(found.facts), len(found.fields)) == (1, 1)


def test_one_list_alone_is_an_answer() -> None:
    assert parse(facts(ONE), FactsAndFields).fields == []


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "{}",
        "null",
        "I cannot help with that.",
        json.dumps({"answer": {}}),
        json.dumps(Facts.model_json_schema()),
        facts({"fact": "I like tea."}),
        facts(None, None),
        '{"facts": "likes tea"}',
        facts(ONE)[:40],
    ],
)
def test_a_reply_of_which_nothing_is_usable_is_invalid(reply: str) -> None:
    with pytest.raises(InvalidReply):
        read(reply)


async def test_only_a_reply_of_which_nothing_is_usable_is_asked_for_again() -> None:
    model = ScriptedTextModel([facts({"fact": "I like tea."}), facts(ONE, {"fact": "No quote."})])

    found = await model.ask(Prompt("Read.", "0 U: I like tea"), Facts, Meter())

    assert told(found) == BOTH[:1]
    assert len(model.asked) == 2


@pytest.mark.parametrize("end", [-3, -20, -60])
@pytest.mark.parametrize("kind", [str, CutText])
def test_a_reply_that_was_cut_off_keeps_its_whole_entries(kind: type[str], end: int) -> None:
    found = read(kind(facts(ONE, TWO)[:end]))

    assert told(found) == BOTH[:1]
    assert found.cut
    assert found.tallies == {"facts": tally(sound=1, unreadable=1)}


def test_a_reply_that_was_cut_off_at_once_has_nothing() -> None:
    found = read(CutText('{"facts": [{"fact": "I li'))

    assert (told(found), found.is_usable) == ([], False)


LONG = 1_000_000
HOSTILE = {
    "brackets": "[" * LONG,
    "braces": "{" * LONG,
    "braces in prose": "{x " * LONG,
    "nested": '{"a":' * LONG,
    "nested lists": '{"facts": [' + "[" * LONG,
    "empty lists": "[" + "[]," * LONG,
    "quotes": '{"facts": ["' + '"' * LONG,
    "apostrophes": "{'facts': ['" + "'" * 200_000,
    "escaped quotes": '{"facts": ["' + '\\"' * (LONG // 2),
    "lists without an end": ("[" + "1," * 1_000) * 900,
    "lists and a text without an end": "[1," * 900 + '"' + "x" * LONG,
    "backslashes": '{"a":"' + "\\" * LONG,
    "a long number": '{"facts": [' + "1" * LONG + "]}",
    "comments": "{" + "/* " * LONG,
    "quotes that close nothing": "{'facts': [" + "'a\" " * 60_000 + "]}",
    "apostrophes in a list": "{'facts': [" + "'a" * 60_000 + "]}",
    "comments between texts": '{"facts": [' + '"a" /* ' * 30_000 + "]}",
    "the most quotes that are read": '{"facts": [' + "'a" * 5_400 + "]}",
    "many lists of quotes": ("['" + "a'" * 4_000 + "]\n") * 100,
    "many near values": "{'a': 1} " * (LONG // 9),
    "near and long": repr({"facts": [ONE] * 30_000}),
    "apostrophes in an entry": "{'facts': [{'fact': '" + "'" * 200_000 + "'}]}",
    "escaped quotes in an entry": '{"facts": [{"fact": "' + '\\"' * 200_000,
    "braces in a text": '{"facts": [{"fact": "' + "}" * 200_000,
    "braces and names": '{"facts": [{"fact": "' + '}, {"a" ' * 100_000,
    "quotes and blanks": '{"facts": [{"fact": "' + '" ' * 500_000,
    "many small entries": "{'facts': [" + "{'a'}," * 150_000 + "]}",
    "many entries of apostrophes": "{'facts': ["
    + ("{'fact': '" + "a'b" * 300 + "'},") * 900
    + "]}",
    "many values": "{} " * 500_000,
    "mixed": "{'facts': [" + "{'fact': 'a\" }, {\"c\": 5' \\\" x'}," * 8_000 + "]}",
    "mixed in entries": "{'facts': ["
    + ("{'fact': '" + "\"'{}[]\\'\\\" ," * 100 + "'},") * 300
    + "]}",
    "wrappers in wrappers": '{"facts": ['
    + ('{"a": [' * 14 + "'x'" + "]}" * 14 + ",") * 5_000
    + "]}",
    "words": '{"facts": [ ' + "x " * 100_000 + "]}",
}


_MOST_SECONDS = 30
"""Several times what a slow machine takes; time that grows with the square takes minutes."""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_reply_takes_little_time(name: str) -> None:
    began = process_time()

    with pytest.raises(InvalidReply):
        read(HOSTILE[name])

    assert process_time() - began < _MOST_SECONDS


@pytest.mark.parametrize("joined", [facts, lambda *rows: "\n".join(map(json.dumps, rows))])
def test_of_thousands_of_entries_the_first_are_read_and_the_others_counted(joined: Any) -> None:
    rows: Sequence[Json] = [{**ONE, "fact": f"Fact {n}."} for n in range(10_000)]
    began = process_time()

    found = read(joined(*rows))

    assert process_time() - began < _MOST_SECONDS
    assert found.tallies == {"facts": tally(sound=2_000, unreadable=8_000)}
