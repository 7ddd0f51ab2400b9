"""Resource names: text to name to text, and what is refused how."""

import pytest

from app.kernel.errors import InvalidArgument, NotFound
from app.kernel.names import (
    ArtifactName,
    EngineName,
    EventName,
    LocationName,
    MemoryName,
    NamespaceName,
    OperationName,
    RevisionName,
    SessionName,
    TaskMemoryName,
    ToolPolicyName,
    check_chosen_id,
    check_session_id,
    check_task_id,
    parse_engine_id,
    parse_revision_id,
    parse_session_id,
    parse_task_id,
    parse_text_id,
)

ENGINE = EngineName("my-project", "us-central1", 7)
MEMORY = MemoryName(ENGINE, "likes-tea")
SESSION = SessionName(ENGINE, "My_Session-1")
TASKS = TaskMemoryName(ENGINE, "TaskMemory")
NAMESPACE = NamespaceName(TASKS, "a.b_c-1")
ENGINE_TEXT = "projects/my-project/locations/us-central1/reasoningEngines/7"
MEMORY_TEXT = f"{ENGINE_TEXT}/memories/likes-tea"
SESSION_TEXT = f"{ENGINE_TEXT}/sessions/My_Session-1"
_TASK_NAMES = TaskMemoryName | NamespaceName | ArtifactName


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (LocationName("123", "eu"), "projects/123/locations/eu"),
        (ENGINE, ENGINE_TEXT),
        (MEMORY, MEMORY_TEXT),
        (RevisionName(MEMORY, 42), f"{MEMORY_TEXT}/revisions/42"),
        (OperationName(ENGINE, "123"), f"{ENGINE_TEXT}/operations/123"),
        (SESSION, SESSION_TEXT),
        (EventName(SESSION, "5"), f"{SESSION_TEXT}/events/5"),
        (TASKS, f"{ENGINE_TEXT}/taskMemories/TaskMemory"),
        (ToolPolicyName(TASKS, "web"), f"{ENGINE_TEXT}/taskMemories/TaskMemory/toolPolicies/web"),
        (NAMESPACE, f"{ENGINE_TEXT}/taskMemories/TaskMemory/namespaces/a.b_c-1"),
        (
            ArtifactName(NAMESPACE, "1"),
            f"{ENGINE_TEXT}/taskMemories/TaskMemory/namespaces/a.b_c-1/artifacts/1",
        ),
    ],
)
def test_names_read_what_they_write(
    name: LocationName | EngineName | MemoryName | RevisionName | OperationName | SessionName,
    text: str,
) -> None:
    assert str(name) == text
    if isinstance(name, LocationName | EngineName | MemoryName | SessionName | _TASK_NAMES):
        assert type(name).parse(text) == name


def test_an_engine_knows_its_location() -> None:
    assert ENGINE.parent == LocationName("my-project", "us-central1")


def test_memory_banks_are_an_alias_of_engines() -> None:
    name = EngineName.parse("projects/my-project/locations/us-central1/memoryBanks/7")
    assert name == ENGINE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "projects/p",
        "projects/p/locations/",
        "projects//locations/l",
        "a/p/locations/l",
        "projects/p/locations/l/x",
        "projects/p\x00/locations/l",
        "projects/\ud800/locations/l",
    ],
)
def test_a_malformed_location_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        LocationName.parse(text)
    assert refused.value.violations[0].field == "parent"


@pytest.mark.parametrize(
    "kind", [EngineName, MemoryName, SessionName, TaskMemoryName, NamespaceName, ArtifactName]
)
@pytest.mark.parametrize("text", ["", "7", f"{ENGINE_TEXT}/memories/", f"{MEMORY_TEXT}/things/1"])
def test_a_malformed_name_is_refused_and_its_form_given(
    kind: type[EngineName | MemoryName | SessionName | _TASK_NAMES], text: str
) -> None:
    with pytest.raises(InvalidArgument, match="must have the form projects/") as refused:
        kind.parse(text, "targetName")
    assert refused.value.violations[0].field == "targetName"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "+1",
        "01",
        "1.0",
        "1e3",
        " 1",
        "1\n",
        "x",
        "\u0661",
        "\x00",
        "\ud800",
        str(2**63),
        "9" * 5000,
    ],
)
def test_an_id_that_cannot_exist_is_not_found(text: str) -> None:
    for parse in (parse_engine_id, parse_revision_id):
        with pytest.raises(NotFound) as refused:
            parse(text)
        assert refused.value.message.isascii()
        assert len(refused.value.message) < 1000


def test_the_largest_id_exists() -> None:
    assert parse_engine_id(str(2**63 - 1)) == 2**63 - 1


@pytest.mark.parametrize("text", ["", "-a", "a-", "A", "a_b", "a" * 64, "a\x00", "é"])
def test_a_text_id_that_cannot_exist_is_not_found(text: str) -> None:
    with pytest.raises(NotFound):
        parse_text_id("memories", text)


@pytest.mark.parametrize("text", ["123456789012345678", "a", "a-1", "a" * 63])
def test_text_ids_are_read_as_they_are(text: str) -> None:
    assert parse_text_id("memories", text) == text


@pytest.mark.parametrize("text", ["a", "likes-tea", "a1", "a" * 63])
def test_a_chosen_id_is_accepted(text: str) -> None:
    assert check_chosen_id("memoryId", text) == text


@pytest.mark.parametrize("text", ["", "1a", "-a", "a-", "A", "a_b", "a" * 64, "a\n", "é"])
def test_a_bad_chosen_id_is_refused_by_field(text: str) -> None:
    with pytest.raises(InvalidArgument, match="memoryId: must be 1 to 63 characters of a-z"):
        check_chosen_id("memoryId", text)


@pytest.mark.parametrize("text", ["a", "My_Session-1", "-", "_" * 63, "123456789012345678"])
def test_a_session_id_is_read_and_chosen_alike(text: str) -> None:
    assert parse_session_id(text) == check_session_id("sessionId", text) == text


@pytest.mark.parametrize("text", ["", "a" * 64, "a.b", "a b", "a\n", "a/b", "é", "\x00"])
def test_a_bad_session_id_is_not_found_and_cannot_be_chosen(text: str) -> None:
    with pytest.raises(NotFound):
        parse_session_id(text)
    with pytest.raises(InvalidArgument, match="sessionId: must be 1 to 63 characters of A-Z"):
        check_session_id("sessionId", text)


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "a b", "\u00e9", "x" * 129, "a\n", "a\x00"])
def test_what_task_memory_cannot_be_called_is_refused_or_not_found(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_task_id("namespace", text)
    assert refused.value.violations[0].field == "namespace"
    with pytest.raises(NotFound):
        parse_task_id("namespaces", text)


@pytest.mark.parametrize("text", ["a", "...", "A.b_c-9", "x" * 128, "-", "_", "0"])
def test_tools_and_frameworks_choose_what_is_in_task_memory(text: str) -> None:
    assert check_task_id("namespace", text) == parse_task_id("namespaces", text) == text
