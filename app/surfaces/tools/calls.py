"""The API calls of each tool."""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.kernel.errors import InvalidArgument, NotFound, Reason
from app.kernel.names import parse_session_id
from app.kernel.tools import ToolName
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.filters import all_of, quoted
from app.surfaces.tools import arguments, texts
from app.surfaces.tools.bank import (
    Bank,
    entry,
    filter_of_topics,
    last_part,
    refusal_of,
    topics_of,
)

_NEAR, _FARTHEST = 1.6, 1.9
"""If the best memory is near, a memory beyond the second distance is surely unrelated. A general
question, such as "user preferences", is far from all memories, so its hits all stay.
"""
_CANDIDATES = 10
_REVISIONS = 50
_USER = "user_id"
"""The scope's key that holds the user of sessions."""
_ANY_SESSION = "-"


@dataclass(frozen=True)
class ToolAnswer:
    """The result of a tool as text for the model and as JSON."""

    text: str
    result: dict[str, Any]


def farthest_related(distances: Sequence[float]) -> float:
    """Return the distance beyond which found memories are surely unrelated; the best is first."""
    return _FARTHEST if distances and distances[0] <= _NEAR else math.inf


async def search_memories(bank: Bank, asked: arguments.SearchArguments) -> ToolAnswer:
    """Find memories by meaning and words; count those that are surely unrelated as omitted."""
    retrieved = await bank.retrieve(
        similaritySearchParams={"searchQuery": asked.query, "topK": asked.limit},
        **({} if asked.max_tokens is None else {"maxTokens": asked.max_tokens}),
        **({"filter": filter_of_topics(asked.topics)} if asked.topics else {}),
    )
    found = retrieved["retrievedMemories"]
    farthest = farthest_related([hit["distance"] for hit in found])
    near = [hit for hit in found if hit["distance"] <= farthest]
    memories = [{**entry(hit["memory"]), "distance": hit["distance"]} for hit in near]
    result: dict[str, Any] = {"memories": memories}
    if omitted := (retrieved["omittedCount"] or 0) + len(found) - len(near):
        result["omitted"] = omitted
    if memories:
        return ToolAnswer(texts.memory_lines(memories, result), result)
    any_memory = await bank.retrieve(simpleRetrievalParams={"pageSize": 1})
    result["scope_is_empty"] = not any_memory["retrievedMemories"]
    nothing = texts.NOTHING_STORED if result["scope_is_empty"] else texts.NOTHING_NEAR
    return ToolAnswer(nothing, result)


async def list_memories(bank: Bank, asked: arguments.ListArguments) -> ToolAnswer:
    """List memories, the last changed first."""
    wanted = [bank.filter_of_scope()]
    if asked.changed_since is not None:
        wanted.append(f"update_time>={quoted(asked.changed_since)}")
    query = [
        ("filter", all_of(wanted)),
        ("orderBy", "update_time desc"),
        ("pageSize", str(asked.limit)),
    ]
    if asked.page_token is not None:
        query.append(("pageToken", asked.page_token))
    page = await bank.api.get(f"{bank.engine}/memories", query)
    result: dict[str, Any] = {"memories": [entry(memory) for memory in page["memories"]]}
    if page["nextPageToken"]:
        result["next_page_token"] = page["nextPageToken"]
    is_part = asked.changed_since is not None or asked.page_token is not None
    nothing = texts.NOTHING_MORE if is_part else texts.NOTHING_STORED
    return ToolAnswer(texts.memory_lines(result["memories"], result) or nothing, result)


async def memory_history(bank: Bank, asked: arguments.HistoryArguments) -> ToolAnswer:
    """Show how a memory changed, newest first."""
    await bank.memory(asked.id, with_deleted=True)
    # One more than shown, to compare the last one with its predecessor.
    query = [("pageSize", str(asked.limit + 1))]
    page = await bank.api.get(f"{bank.path_of(asked.id)}/revisions", query)
    listed = page["memoryRevisions"] or []
    older = [*listed[1:], None][: len(listed)]
    revisions = [_revision(*pair) for pair in zip(listed, older, strict=True)][: asked.limit]
    return ToolAnswer(texts.revision_lines(revisions), {"revisions": revisions})


def _revision(revision: Json, before: Json | None) -> dict[str, Any]:
    fact = texts.fact_of(revision)
    words = Counter(fact.split())
    former = Counter(texts.fact_of(before).split()) if before is not None else Counter[str]()
    return {
        "id": last_part(revision["name"]),
        "action": revision["action"],
        "time": revision["createTime"],
        "fact": fact,
        "words_added": list((words - former).elements()),
        "words_removed": list((former - words).elements()),
        "author": revision["author"],
    }


async def remember(bank: Bank, asked: arguments.RememberArguments) -> ToolAnswer:
    """Store facts and merge them with known memories."""
    topics = {"topics": topics_of(asked.topics)} if asked.topics else {}
    # A duplicate fact would be counted as not stored.
    facts = [{"fact": fact, **topics} for fact in dict.fromkeys(asked.facts)]
    return await _generated(bank, len(facts), directMemoriesSource={"directMemories": facts})


async def learn_from_conversation(bank: Bank, asked: arguments.LearnArguments) -> ToolAnswer:
    """Extract facts from messages and merge them with known memories."""
    events = [
        {
            "content": {
                "role": "user" if message.role == "user" else "model",
                "parts": [{"text": message.text}],
            }
        }
        for message in asked.messages
    ]
    return await _generated(bank, None, directContentsSource={"events": events})


async def _generated(bank: Bank, facts: int | None, **source: Any) -> ToolAnswer:  # noqa: ANN401 - a field of the request
    """Generate memories from a source; without a number of given `facts`, they are extracted."""
    started = await bank.api.send(
        "POST",
        f"{bank.engine}/memories:generate",
        {"scope": bank.scope, **source},
        request_id=bank.request_id,
    )
    operation = await bank.settled(started)
    name = last_part(operation["name"])
    if not operation["done"]:
        result = {"memories": [], "operation": name, "done": False}
        return ToolAnswer(texts.under_way(name), result)
    if operation["error"]:
        raise refusal_of(operation)
    changes = await bank.changes(operation)
    metadata = operation["metadata"]
    reasons = Counter[str](metadata["droppedFactCounts"] or {})
    reasons.update(metadata["droppedFieldCounts"] or {})
    not_stored = max(sum(reasons.values()), (facts or 0) - len(changes))
    text = texts.change_lines(changes, not_stored, reasons)
    result = {"memories": changes, "not_stored": not_stored, "operation": name}
    if reasons:
        result["reasons"] = dict(reasons)
    if known := metadata["knownEventCount"]:
        result["read_before"] = known
        text = f"{text}\n{texts.read_before(known)}"
    return _with_mask_counts(ToolAnswer(text, result), operation)


def _with_mask_counts(answer: ToolAnswer, operation: Json) -> ToolAnswer:
    masked = operation["metadata"]["maskedCounts"]
    if not masked:
        return answer
    result = {**answer.result, "masked": dict(masked)}
    return ToolAnswer(f"{answer.text}\n{texts.masked_line(masked)}", result)


async def update_memory(bank: Bank, asked: arguments.UpdateArguments) -> ToolAnswer:
    """Replace the text of a memory.

    Raises:
        InvalidArgument: the memory is a field of a profile, which has no text.
    """
    memory = await bank.memory(asked.id)
    if memory["structuredContent"]:
        message = (
            f"memories/{asked.id} is a field of a profile; learn_from_conversation changes it."
        )
        raise InvalidArgument(message, Reason.FIELD_INVALID)
    # No etag: the model has not seen one, and a repeated call could not send it again.
    changed = await bank.api.send(
        "PATCH",
        bank.path_of(asked.id),
        {"fact": asked.fact},
        request_id=bank.request_id,
        mask="fact",
    )
    # The stored text, because privacy rules may have masked a part.
    before, after = texts.fact_of(memory), texts.fact_of(changed["response"])
    answer = ToolAnswer(texts.updated(before, after, asked.id), {"before": before, "after": after})
    return _with_mask_counts(answer, changed)


async def forget_memory(bank: Bank, asked: arguments.ForgetArguments) -> ToolAnswer:
    """Delete memories by their ids, or list candidates for a query.

    A repeated call finds the memories already deleted and returns the same answer.
    """
    if asked.ids is None:
        return await _candidates(bank, asked.query or "")
    ids = list(dict.fromkeys(asked.ids))
    # All ids are checked before the first deletion: a wrong id then deletes no memory.
    memories = await asyncio.gather(*map(bank.known_memory, ids))
    for memory, read in zip(ids, memories, strict=True):
        if not read["deleteTime"]:
            request_id = bank.request_id_for(memory)
            await bank.api.send("DELETE", bank.path_of(memory), request_id=request_id)
    forgotten = [{"id": memory["id"], "fact": memory["fact"]} for memory in map(entry, memories)]
    result: dict[str, Any] = {"forgotten": forgotten}
    until = await _recoverable_until(bank, ids[0])
    if until is not None:
        result["recover_until"] = until
    return ToolAnswer(texts.forgotten_lines(forgotten, until), result)


async def _candidates(bank: Bank, query: str) -> ToolAnswer:
    search = {"searchQuery": query, "topK": _CANDIDATES}
    retrieved = await bank.retrieve(similaritySearchParams=search)
    candidates = [entry(hit["memory"]) for hit in retrieved["retrievedMemories"]]
    return ToolAnswer(texts.candidate_lines(candidates), {"candidates": candidates})


async def _recoverable_until(bank: Bank, memory: str) -> str | None:
    """Return the end of the time for restoring a deleted memory; None: unknown or not possible."""
    try:
        return (await bank.memory(memory, with_deleted=True))["recoverUntil"]  # type: ignore[no-any-return]  # JSON
    except (ApiRefusal, NotFound):
        return None


async def restore_memory(bank: Bank, asked: arguments.RestoreArguments) -> ToolAnswer:
    """Restore a deleted memory, or roll a current one back to an earlier revision.

    Raises:
        InvalidArgument: there is no earlier revision.
    """
    memory = await bank.memory(asked.id, with_deleted=True)
    path, target = bank.path_of(asked.id), asked.revision
    if target is None and not memory["deleteTime"]:
        target = await _earlier(bank, memory)
    # Derived from the arguments alone: only the same call can have used this id before.
    request_id = bank.request_id_for(asked.id, asked.revision or "")
    try:
        if target is None:
            # Called for a current memory too: an earlier attempt may have restored it.
            changed = await bank.api.send("POST", f"{path}:undelete", request_id=request_id)
        else:
            body = {"targetRevisionId": target}
            changed = await bank.api.send("POST", f"{path}:rollback", body, request_id=request_id)
        restored = changed["response"]
    except ApiRefusal as refused:
        if refused.reason == Reason.NOT_DELETED:
            message = (
                f"memories/{asked.id} has no earlier text; memory_history shows its revisions."
            )
            raise InvalidArgument(message, Reason.FIELD_INVALID) from None
        if refused.reason != Reason.REQUEST_ID_REUSED:
            raise
        # The earlier attempt of this call succeeded; a second one would do something else.
        restored = await bank.memory(asked.id)
    fact = texts.fact_of(restored)
    return ToolAnswer(texts.restored(fact, asked.id), {"fact": fact})


async def _earlier(bank: Bank, memory: Json) -> str | None:
    """Return the newest revision with another content than the current memory, or None.

    Only the first page of revisions, the newest, is searched.
    """
    name = last_part(memory["name"])
    query = [("pageSize", str(_REVISIONS))]
    page = await bank.api.get(f"{bank.path_of(name)}/revisions", query)
    fact = texts.fact_of(memory)
    for revision in page["memoryRevisions"] or []:
        if revision["action"] != "DELETED" and texts.fact_of(revision) != fact:
            return last_part(revision["name"])
    return None


async def recall_conversation(bank: Bank, asked: arguments.RecallArguments) -> ToolAnswer:
    """Find passages of conversations, word for word."""
    body: dict[str, Any] = {
        "query": asked.query,
        "topK": asked.limit,
        "maxTokens": asked.max_tokens,
    }
    session = bank.session or asked.session
    if session is None:
        user, path = _user_of(bank), f"{bank.engine}/sessions/-:recall"
        recalled = await bank.api.ask(path, {**body, "userId": user})
    else:
        path = await _session_path(bank, session)
        if bank.session is not None:
            body["excludeRecent"] = bank.exclude_recent
        recalled = await bank.api.ask(f"{path}:recall", body)
    spans = [_passage(span, session) for span in recalled["spans"]]
    result: dict[str, Any] = {"passages": spans}
    text = texts.passage_lines(spans)
    if recalled["nextPageToken"]:
        result["is_complete"] = False
        text += texts.NOT_ALL_SEARCHED
    return ToolAnswer(text, result)


def _user_of(bank: Bank) -> str:
    if _USER not in bank.scope:
        message = f"The scope has no {_USER}, whose conversations could be searched."
        raise InvalidArgument(message, Reason.FIELD_INVALID)
    return bank.scope[_USER]


async def _session_path(bank: Bank, session: str) -> str:
    """Return the path of a session of the scope's user."""
    name = last_part(session)
    missing = NotFound.of(f"sessions/{parse_session_id(name)}")
    if name == _ANY_SESSION:
        raise missing
    path = f"{bank.engine}/sessions/{name}"
    if bank.session is not None and _USER not in bank.scope:
        # The application chose the session, so its owner needs no check.
        return path
    try:
        session_read = await bank.api.get(path)
    except ApiRefusal as refused:
        raise missing if refused.status == 404 else refused from None
    if session_read["userId"] != _user_of(bank):
        raise missing
    return path


def _passage(span: Json, session: str | None) -> dict[str, Any]:
    place = {"session": last_part(span["session"] or session or ""), "seq": span["seq"]}
    time = {"time": span["eventTime"]} if span["eventTime"] else {}
    return {**place, **time, "speaker": span["speaker"], "text": span["text"]}


CALLS: Mapping[ToolName, Callable[[Bank, Any], Awaitable[ToolAnswer]]] = {
    ToolName.SEARCH_MEMORIES: search_memories,
    ToolName.LIST_MEMORIES: list_memories,
    ToolName.MEMORY_HISTORY: memory_history,
    ToolName.REMEMBER: remember,
    ToolName.LEARN_FROM_CONVERSATION: learn_from_conversation,
    ToolName.UPDATE_MEMORY: update_memory,
    ToolName.FORGET_MEMORY: forget_memory,
    ToolName.RESTORE_MEMORY: restore_memory,
    ToolName.RECALL_CONVERSATION: recall_conversation,
}
"""The function that runs each tool."""
