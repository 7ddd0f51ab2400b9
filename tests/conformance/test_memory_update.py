"""Updates of memories, by the method that the client hides.

Source: wire specification, section 5.5.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, invalid, last_part, missing

LATER = datetime(2130, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def made(bank: Bank) -> Any:
    """A memory with a value in every field."""
    return bank.create(
        "I like pizza",
        display_name="dn",
        description="ds",
        expire_time=LATER,
        topics=[{"managed_memory_topic": "USER_PREFERENCES"}],
        metadata={"src": {"string_value": "a"}},
    )


def _update(bank: Bank, memory: Any, **arguments: Any) -> Any:
    """Update a memory and return it as it then is."""
    bank.memories._update(name=memory.name, **arguments)
    return bank.get(memory.name)


def _differing(before: Any, after: Any) -> set[str]:
    """Return the fields that an update changed, the time of the update aside."""
    fields = before.model_dump()
    return {key for key in fields if fields[key] != after.model_dump()[key]} - {"update_time"}


def test_the_operation_of_an_update_is_done(bank: Bank, made: Any) -> None:
    operation = bank.memories._update(name=made.name, fact="I like pasta", scope=USER)
    assert operation.done is True
    assert operation.response.fact == "I like pasta"
    assert operation.response == bank.get(made.name)
    kind = operation.metadata["@type"]
    assert kind.endswith(".UpdateMemoryOperationMetadata")


def test_without_a_mask_only_what_is_sent_changes(bank: Bank, made: Any) -> None:
    after = _update(bank, made, fact="I like pasta", scope=USER)
    assert after.fact == "I like pasta"
    assert _differing(made, after) == {"fact"}
    assert after.update_time > made.update_time


def test_only_what_the_mask_names_changes(bank: Bank, made: Any) -> None:
    after = _update(
        bank,
        made,
        fact="I like sushi",
        config={
            "display_name": "n",
            "description": "d",
            "metadata": {"src": {"string_value": "b"}},
            "update_mask": "fact,display_name",
        },
    )
    assert (after.fact, after.display_name) == ("I like sushi", "n")
    assert _differing(made, after) == {"fact", "display_name"}


def test_everything_but_the_scope_can_change(bank: Bank, made: Any) -> None:
    after = _update(
        bank,
        made,
        fact="I like sushi",
        config={
            "display_name": "n",
            "description": "d",
            "topics": [{"custom_memory_topic_label": "food"}],
            "metadata": {"src": {"string_value": "b"}},
            "expire_time": LATER + timedelta(days=1),
        },
    )
    changed = {"fact", "display_name", "description", "topics", "metadata", "expire_time"}
    assert _differing(made, after) == changed
    assert after.metadata["src"].string_value == "b"
    assert after.expire_time == LATER + timedelta(days=1)


def test_a_life_is_counted_from_the_update(bank: Bank, made: Any) -> None:
    after = _update(bank, made, config={"ttl": "3600s"})
    assert after.expire_time - after.update_time == timedelta(hours=1)


def test_without_a_life_the_expiry_stays(bank: Bank, made: Any) -> None:
    assert _update(bank, made, fact="I like pasta").expire_time == LATER


@pytest.mark.parametrize("mask", ["displayName", "display_name", "fact, display_name"])
def test_a_mask_is_read_in_either_spelling(bank: Bank, made: Any, mask: str) -> None:
    after = _update(
        bank, made, fact="I like pizza", config={"display_name": "n", "update_mask": mask}
    )
    assert _differing(made, after) == {"display_name"}


def test_a_mask_that_names_an_absent_field_clears_it(bank: Bank, made: Any) -> None:
    mask = "display_name,description,topics,metadata"
    after = _update(bank, made, config={"update_mask": mask})
    assert _differing(made, after) == {"display_name", "description", "topics", "metadata"}
    assert (after.display_name, after.topics, after.metadata) == (None, None, None)


def test_an_id_in_the_query_is_ignored(bank: Bank, made: Any) -> None:
    after = _update(bank, made, fact="I like pasta", config={"memory_id": "another"})
    assert last_part(after.name) == last_part(made.name)
    assert after.fact == "I like pasta"


@pytest.mark.parametrize("scope", [{"user_id": "124"}, {"user_id": "123", "app": "x"}])
def test_the_scope_cannot_change(bank: Bank, made: Any, scope: dict[str, str]) -> None:
    with invalid("scope"):
        bank.memories._update(name=made.name, fact="I like pasta", scope=scope)
    assert bank.get(made.name) == made


@pytest.mark.parametrize("mask", ["nonsense", "name", "create_time", "fact,,", "scope.user_id"])
def test_a_bad_mask_is_refused(bank: Bank, made: Any, mask: str) -> None:
    with invalid("updateMask"):
        bank.memories._update(name=made.name, fact="f", config={"update_mask": mask})


def test_an_unknown_memory_cannot_be_updated(bank: Bank) -> None:
    with missing():
        bank.memories._update(name=f"{bank.name}/memories/404", fact="f")


def test_an_update_makes_a_revision(bank: Bank, made: Any) -> None:
    _update(bank, made, fact="I like pasta")
    assert [one.fact for one in bank.revisions(made.name)] == ["I like pasta", "I like pizza"]


def test_an_update_may_make_no_revision(bank: Bank, made: Any) -> None:
    _update(bank, made, fact="I like pasta", config={"disable_memory_revisions": True})
    assert [one.fact for one in bank.revisions(made.name)] == ["I like pizza"]


def test_fields_of_the_revision_count_beside_any_mask(bank: Bank, made: Any) -> None:
    config = {"revision_ttl": "200s", "update_mask": "fact"}
    _update(bank, made, fact="I like pasta", config=config)
    newest = bank.revisions(made.name)[0]
    assert newest.expire_time - newest.create_time == timedelta(seconds=200)


def test_a_changed_fact_is_found_by_its_meaning(bank: Bank, made: Any) -> None:
    _update(bank, made, fact="The office is closed on Mondays.")
    search = {"search_query": "The office is closed on Mondays."}
    (found,) = bank.retrieve(similarity_search_params=search)
    assert found.memory.name == made.name
    assert found.distance < 0.05


def test_labels_of_an_update_are_kept(bank: Bank, made: Any, http: httpx.Client) -> None:
    body = {"fact": "I like pasta", "revisionLabels": {"by": "me"}}
    assert http.patch(made.name, json=body).status_code == 200
    assert bank.revisions(made.name)[0].labels == {"by": "me"}
    assert [one.fact for one in bank.revisions(made.name, filter='labels.by="me"')] == [
        "I like pasta"
    ]


def test_a_stale_etag_aborts_an_update(http: httpx.Client, made: Any) -> None:
    etag = http.get(made.name).json()["etag"]
    headers = {"If-Match": etag}
    assert http.patch(made.name, json={"fact": "a"}, headers=headers).status_code == 200
    stale = http.patch(made.name, json={"fact": "b"}, headers=headers)
    assert (stale.status_code, stale.json()["error"]["status"]) == (409, "ABORTED")
