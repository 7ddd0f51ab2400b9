"""What providers refuse never comes out, whatever a session holds."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from typing_extensions import override

from app.conversation.strategies.logic.policies import rules_of
from app.conversation.strategies.logic.rendering import ContextContent, render
from app.conversation.strategies.logic.shapes import ShownItem, as_openai
from app.conversation.strategies.logic.turns import Format
from app.kernel.wire.memory_policy import MemoryPolicy, Strategy, SummaryRole
from app.platform.sessions.logic.event_text import EventText, Speaker, speaker_of, text_of

Json = dict[str, Any]

ROLES = st.sampled_from(SummaryRole)
NAMES = st.sampled_from(["find", "count", "no tool!", "", None])
IDS = st.sampled_from([None, "a", "b", "x" * 41, "", 7])
TOLD: st.SearchStrategy[Any] = st.sampled_from([{}, {"q": "tea"}, None, []])
SIGNED = st.sampled_from([{}, {"thoughtSignature": "c2ln"}, {"thought": True}])


def _called(kind: str, told: str) -> st.SearchStrategy[Json]:
    called = st.builds(
        lambda own_id, name, value: {"id": own_id, "name": name, told: value}, IDS, NAMES, TOLD
    )
    return st.builds(lambda one, more: {kind: one, **more}, called, SIGNED)


PARTS = st.one_of(
    st.sampled_from(["", "Hello", " "]).map(lambda text: {"text": text}),
    _called("functionCall", "args"),
    _called("functionResponse", "response"),
    st.sampled_from(
        [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}, {"inlineData": {}}]
    ),
    st.just({"executableCode": {"code": "1 + 1", "language": "PYTHON"}}),
)
AUTHORS = st.sampled_from(["user", "agent", "tool", "system"])
EVENTS = st.lists(st.tuples(AUTHORS, st.lists(PARTS, max_size=3), st.booleans()), max_size=8)


def _shown(events: list[tuple[str, list[Json], bool]], summaries: int) -> ContextContent:
    said = []
    for seq, (author, parts, _) in enumerate(events, start=1):
        role = {"agent": "model", "tool": "user"}.get(author, author)
        content = {"role": role, "parts": parts}
        speaker = speaker_of(author, content)
        said.append(EventText(seq, f"e{seq}", 1, speaker, content, text_of(content), None))
    cut = {seq: 5 for seq, (_, _, is_cut) in enumerate(events, start=1) if is_cut}
    told = [(str(n), "They met.") for n in range(summaries)]
    return ContextContent("s", system="Be kind.", said=said, cut=cut, summaries=told)


def _rendered(
    events: list[tuple[str, list[Json], bool]], role: SummaryRole, form: Format, summaries: int = 1
) -> Json:
    rules = rules_of(MemoryPolicy(strategy=Strategy.EVERY_N, summary_role=role))
    return render(_shown(events, summaries), rules, form)


ROUND: list[tuple[str, list[Json], bool]] = [
    ("user", [{"text": "Find tea."}], False),
    ("agent", [{"functionCall": {"id": "a", "name": "find", "args": {}}}], False),
    ("tool", [{"functionResponse": {"id": "a", "name": "find", "response": {}}}], False),
]


TWICE_NAMED: list[tuple[str, list[Json], bool]] = [
    (
        "agent",
        [
            {"functionCall": {"id": "call_1_2", "name": "find", "args": {}}},
            {"functionCall": {"name": "count", "args": {}}},
            {"functionCall": {"id": "call_1_5", "name": "count", "args": {}}},
        ],
        False,
    ),
    (
        "tool",
        [
            {"functionResponse": {"id": "call_1_2", "name": "find", "response": {}}},
            {"functionResponse": {"name": "count", "response": {}}},
            {"functionResponse": {"id": "call_1_5", "name": "count", "response": {}}},
        ],
        False,
    ),
]
"""The ids that would be made are given to others."""


@given(events=EVENTS, role=ROLES)
@example(events=ROUND, role=SummaryRole.SYSTEM)
@example(events=TWICE_NAMED, role=SummaryRole.SYSTEM)
def test_openai_is_sent_calls_with_their_results_and_no_key_it_does_not_know(
    events: list[tuple[str, list[Json], bool]], role: SummaryRole
) -> None:
    waiting: list[str] = []
    for message in _rendered(events, role, Format.OPENAI)["messages"]:
        if message["role"] == "tool":
            assert message.keys() == {"role", "tool_call_id", "content"}
            waiting.remove(message["tool_call_id"])
            assert isinstance(message["content"], str)
            continue
        assert not waiting
        assert message["role"] in {"system", "user", "assistant"}
        calls = message.get("tool_calls", [])
        waiting = [one["id"] for one in calls]
        assert len(set(waiting)) == len(waiting)
        assert all(0 < len(one) <= 40 for one in waiting)
        assert all(one["function"]["name"] for one in calls)
        assert message.keys() - {"tool_calls"} == {"role", "content"}
        assert message["content"] or calls
        assert not calls or message["role"] == "assistant"
    assert not waiting


SAID: list[tuple[str, list[Json], bool]] = [
    ("agent", [{"text": "One moment."}], False),
    ("agent", [{"text": "I look."}], False),
]


@given(events=EVENTS, role=ROLES)
@example(events=ROUND, role=SummaryRole.SYSTEM)
@example(events=[ROUND[0], *SAID, *ROUND[1:]], role=SummaryRole.SYSTEM)
@example(events=[*SAID, *ROUND[1:]], role=SummaryRole.SYSTEM)
def test_gemini_is_sent_calls_after_the_user_and_as_many_results(
    events: list[tuple[str, list[Json], bool]], role: SummaryRole
) -> None:
    rendered = _rendered(events, role, Format.GEMINI)
    before: Json = {"role": "", "parts": []}
    for content in rendered["contents"]:
        assert content["role"] in {"user", "model"}
        assert content["parts"]
        assert all(len(part.keys() - {"thoughtSignature"}) == 1 for part in content["parts"])
        assert all(part.get("text", "-") for part in content["parts"])
        called = [one["functionCall"] for one in before["parts"] if "functionCall" in one]
        results = [one["functionResponse"] for one in content["parts"] if "functionResponse" in one]
        assert sorted(one["name"] for one in called) == sorted(one["name"] for one in results)
        if any("functionCall" in one for one in content["parts"]):
            assert content["role"] == "model"
            assert before["role"] == "user"
        if results:
            assert content["role"] == "user"
            assert len(results) == len(content["parts"])
            ids = {one.get("id") for one in (*called, *results)}
            assert None not in ids or ids == {None}
        before = content
    assert not any("functionCall" in one for one in before["parts"])
    if rendered["contents"] and role is SummaryRole.USER:
        assert rendered["contents"][0]["role"] == "user"


class _Items(list[ShownItem]):
    """Items that note how many of them are copied at once."""

    copied = 0

    @override
    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.copied += len(found) if isinstance(place, slice) else 0
        return found


def test_what_follows_an_event_is_not_copied_for_each() -> None:
    items = _Items()
    for seq in range(200):
        event = EventText(seq, "e", 1, Speaker.AGENT, {"parts": [{"text": "Yes."}]}, "Yes.", None)
        items.append(ShownItem("assistant", "Yes.", {"kind": "event", "seq": seq}, event))
    assert len(as_openai(items)["messages"]) == 200
    assert items.copied == 0


def test_openai_has_an_id_of_its_own_for_each_call() -> None:
    messages = _rendered(TWICE_NAMED, SummaryRole.SYSTEM, Format.OPENAI)["messages"]
    calls = [one["id"] for one in messages[-4]["tool_calls"]]
    assert calls == ["call_1_2", "call_1_8", "call_1_5"]
    assert [one["tool_call_id"] for one in messages[-3:]] == calls


def test_a_call_is_one_turn_with_all_that_the_agent_said_since_the_user_for_gemini() -> None:
    events = [ROUND[0], *SAID, *ROUND[1:]]
    rendered = _rendered(events, SummaryRole.SYSTEM, Format.GEMINI, summaries=0)
    assert [one["role"] for one in rendered["contents"]] == ["user", "model", "user"]
    assert rendered["contents"][1]["parts"] == [
        {"text": "One moment."},
        {"text": "I look."},
        {"functionCall": {"id": "a", "name": "find", "args": {}}},
    ]
    sources = [(one["seq"], one.get("lastSeq")) for one in rendered["sources"][1:]]
    assert sources == [(1, None), (2, 4), (5, None)]


def test_a_call_that_no_user_speaks_before_is_text_for_gemini() -> None:
    rendered = _rendered([*SAID, *ROUND[1:]], SummaryRole.SYSTEM, Format.GEMINI, summaries=0)
    assert [one["role"] for one in rendered["contents"]] == ["model"] * 3 + ["user"]
    assert all("text" in one["parts"][0] for one in rendered["contents"])
