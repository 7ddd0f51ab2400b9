"""An import as a client of the REST API: lines, texts for generation, and sessions."""

import json
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.adapters.api_client import ApiClient, Query, RemoteError
from app.process.imports.files import LinesFile
from app.process.imports.items import Conversation, Options
from app.process.imports.products import Converted, ItemLine, Rejected
from app.process.remote_api import BUSY, listed, patiently, wait

BATCH_LINES = 1_000
"""Largest number of lines per request; a response lists at most as many errors."""
_BATCH_BYTES = 4 * 1024 * 1024
_MIN_ERRORS = 100
_INFERRED = 50
_MAX_INFERRED = 5_000
"""Largest number of texts, over all scopes, that wait for more texts of their scope."""
_EVENTS = 100
_NDJSON = "application/x-ndjson"
_ENDED_KEY = "ended_import"
_COUNTS = ("imported", "restored", "overwritten", "existing", "changedHere", "expired")
_NOT_FOUND, _CONFLICT = 404, 409


class _Batch:
    def __init__(self) -> None:
        self._lines: list[tuple[ItemLine, bytes]] = []
        self._bytes = 0

    def has_room(self, text: bytes) -> bool:
        return len(self._lines) < BATCH_LINES and self._bytes + len(text) <= _BATCH_BYTES

    def add(self, item: ItemLine, text: bytes) -> None:
        self._lines.append((item, text))
        self._bytes += len(text)

    def take(self) -> list[tuple[ItemLine, bytes]]:
        taken, self._lines, self._bytes = self._lines, [], 0
        return taken


@dataclass
class Importer:
    """A running import. Its steps are recorded in `results`, which allows an undo.

    Attributes:
        path: the path of the engine, such as `/reasoningEngines/1`.
        counts: the numbers of lines by outcome, named like the fields of responses.
        losses: the numbers of omitted items, by kind.
    """

    api: ApiClient
    path: str
    options: Options
    results: LinesFile
    rejections: LinesFile
    losses: Counter[str]
    counts: Counter[str] = field(default_factory=Counter)
    operations: list[str] = field(default_factory=list)
    import_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    _lasting: _Batch = field(default_factory=_Batch)
    _ended: _Batch = field(default_factory=_Batch)
    _texts: dict[str, list[ItemLine]] = field(default_factory=dict)

    def add(self, item: Converted) -> None:
        """Add a converted item and send a request if a batch is full.

        Raises:
            RemoteError: the service refuses the whole request, or cannot be reached.
        """
        if isinstance(item, Rejected):
            self.reject(item)
        elif isinstance(item, Conversation):
            self._converse(item)
        elif item.ended and not (self.options.with_ended and not self.options.infer):
            self.losses["ended facts"] += 1
        elif self.options.infer:
            self._infer(item)
        else:
            self._add_line(item)

    def finish(self) -> None:
        """Send the remaining items and wait for generations; errors are as for `add`."""
        self._send(self._lasting)
        self._send(self._ended)
        self._generate_all()
        if self.options.infer:
            for name in self.operations:
                self._count_generated(wait(self.api, name))

    def reject(self, rejected: Rejected) -> None:
        """Record an item that is not imported."""
        self.counts["rejected"] += 1
        self.rejections.write(rejected.wire())

    def _add_line(self, item: ItemLine) -> None:
        line = item.line
        if item.ended:
            marked = {**line.get("metadata", {}), _ENDED_KEY: self._ended_mark}
            line = {**line, "metadata": marked}
        batch = self._ended if item.ended else self._lasting
        text = json.dumps(line).encode()
        if not batch.has_room(text):
            self._send(batch)
        batch.add(item, text)

    def _send(self, batch: _Batch) -> None:
        sent = batch.take()
        if not sent:
            return
        query: Query = {
            "importId": self.import_id,
            "maxErrors": max(_MIN_ERRORS, len(sent)),
            "overwrite": self.options.overwrite,
        }
        body = b"\n".join(text for _, text in sent)
        path = f"{self.path}/memories:import"
        answer = patiently(lambda: self.api.upload(path, [body], _NDJSON, query))
        for name in _COUNTS:
            self.counts[name] += answer.get(name, 0)
        for entry in answer["errors"]:
            item, _ = sent[entry["line"] - 1]
            error = entry["error"]
            self.reject(Rejected(item.number, _reason(error), str(error["message"]), item.item))
        if answer.get("operation"):
            self._note(answer["operation"])
        if batch is self._ended:
            self._delete_ended()

    def _note(self, operation: str) -> None:
        if operation not in self.operations:
            self.operations.append(operation)
            self.results.write({"operation": operation})

    def _infer(self, item: ItemLine) -> None:
        if "fact" not in item.line:
            self.losses["structured memories, with --infer"] += 1
            return
        if item.line.get("metadata", {}).keys() - self.options.metadata.keys():
            self.losses["metadata of their own, with --infer"] += 1
        scope = json.dumps(item.line["scope"], sort_keys=True)
        texts = self._texts.setdefault(scope, [])
        texts.append(item)
        if len(texts) >= _INFERRED:
            self._generate(self._texts.pop(scope))
        elif sum(map(len, self._texts.values())) >= _MAX_INFERRED:
            self._generate_all()

    def _generate_all(self) -> None:
        while self._texts:
            self._generate(self._texts.pop(next(iter(self._texts))))

    def _generate(self, texts: Sequence[ItemLine]) -> None:
        body: dict[str, Any] = {
            "scope": texts[0].line["scope"],
            "directContentsSource": {"events": [_event(item.line) for item in texts]},
        }
        if self.options.metadata:
            metadata = self.options.metadata
            body["metadata"] = {name: {"stringValue": metadata[name]} for name in metadata}
        if self.options.labels:
            body["revisionLabels"] = dict(self.options.labels)
        path = f"{self.path}/memories:generate"
        answer = patiently(lambda: self.api.ask("POST", path, body))
        self.counts["texts"] += len(texts)
        self._note(answer["name"])

    def _count_generated(self, operation: Mapping[str, Any]) -> None:
        if "error" in operation:
            self.counts["failedGenerations"] += 1
        for memory in operation.get("response", {}).get("generatedMemories", ()):
            self.counts[str(memory["action"]).lower()] += 1

    @property
    def _ended_mark(self) -> dict[str, str]:
        # Identical in each run: a later run deletes facts that an interrupted one left behind.
        return {"stringValue": self.options.source}

    def _delete_ended(self) -> None:
        condition = {"key": _ENDED_KEY, "op": "EQUAL", "value": self._ended_mark}
        body = {"filterGroups": [{"filters": [condition]}], "force": True}
        path = f"{self.path}/memories:purge"
        answer = patiently(lambda: self.api.ask("POST", path, body))
        self._note(answer["name"])
        done = wait(self.api, answer["name"])
        if "error" in done:
            raise RemoteError(str(done["error"].get("message")))
        self.counts["endedAndDeleted"] += done.get("response", {}).get("purgeCount", 0)

    def _converse(self, made: Conversation) -> None:
        try:
            self._append(made, self._begin(made))
        except RemoteError as error:
            if error.status is None or error.status in BUSY:
                raise
            item = {"session": made.session_id, "userId": made.user_id}
            reason = error.reason or "SESSION_REFUSED"
            self.reject(Rejected(0, reason, error.message, item))

    def _begin(self, item: Conversation) -> int:
        path = f"{self.path}/sessions"
        query, body = {"sessionId": item.session_id}, {"userId": item.user_id, **item.fields}
        try:
            patiently(lambda: self.api.ask("POST", path, body, query))
        except RemoteError as error:
            if error.status != _CONFLICT:
                raise
            session = patiently(lambda: self.api.ask("GET", f"{path}/{item.session_id}"))
            if session.get("userId") != item.user_id:
                raise
            events = listed(self.api, f"{path}/{item.session_id}/events", "sessionEvents", _EVENTS)
            return sum(1 for _ in events)
        self.counts["sessions"] += 1
        self.results.write({"session": f"{path}/{item.session_id}"})
        return 0

    def _append(self, item: Conversation, count: int) -> None:
        path = f"{self.path}/sessions/{item.session_id}/events:batch"
        for first in range(count, len(item.events), _EVENTS):
            events = item.events[first : first + _EVENTS]
            body = {"events": events, "expectedLastSeq": first}
            patiently(partial(self.api.ask, "POST", path, body))
            self.counts["events"] += len(events)


def undo(api: ApiClient, step: Mapping[str, str]) -> Counter[str]:
    """Undo one line of a file of results: an operation or a session.

    Counts `undone`, `skipped` (memories changed since, which are kept), `sessions`, and `missing`
    (resources that this service does not have).

    Raises:
        RemoteError: the service refuses the undo, or cannot be reached.
    """
    try:
        if "session" in step:
            patiently(lambda: api.ask("DELETE", step["session"]))
            return Counter(sessions=1)
        path = f"/{step['operation']}:undo"
        done = wait(api, patiently(lambda: api.ask("POST", path))["name"])
    except RemoteError as error:
        # An earlier undo has already reverted the operation.
        if error.reason == "NOTHING_TO_UNDO":
            return Counter()
        if error.status == _NOT_FOUND:
            return Counter(missing=1)
        raise
    if "error" in done:
        raise RemoteError(str(done["error"].get("message")))
    metadata = done.get("metadata", {})
    return Counter(undone=metadata.get("undoneCount", 0), skipped=metadata.get("skippedCount", 0))


def _reason(error: Mapping[str, Any]) -> str:
    details = error.get("details", ())
    return next((str(info["reason"]) for info in details if "reason" in info), "REFUSED")


def _event(line: Mapping[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = {"content": {"role": "user", "parts": [{"text": line["fact"]}]}}
    moment = line.get("updateTime") or line.get("createTime")
    return event if moment is None else {**event, "eventTime": moment}
