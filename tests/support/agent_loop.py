"""An agent as applications write one: a main model, tools of its own, and task memory between.

It speaks the protocol of OpenAI with its model, and holds a key without `artifacts.content`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.bank import Json, ok

MAX_STEPS = 8
_METHODS = {
    "query_task_memory": "query",
    "summarize_task_memory": "summarize",
    "extract_task_memory": "extract",
}
_EXPORT = "export_task_memory"
_EXPORTED = {"fileName": "file_name", "directory": "folder"}


@dataclass(frozen=True)
class Tool:
    """A tool of the application: how a model is told of it, and what it returns."""

    spec: Json
    run: Callable[[Mapping[str, Any]], Json]

    @property
    def name(self) -> str:
        found: str = self.spec["function"]["name"]
        return found


@dataclass
class Agent:
    """One conversation.

    Attributes:
        service: a client with the agent's own key.
        engine: its full name.
        session: the path of the session in which all that is said is kept.
        model: the address of the main model.
    """

    service: httpx.Client
    engine: str
    session: str
    model: str
    own: Mapping[str, Tool]
    messages: list[Json] = field(default_factory=list)
    exported: list[str] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    """What the readers have answered."""

    @property
    def _memory(self) -> str:
        return f"{self.engine}/taskMemories/tools"

    def answer(self, question: str) -> str:
        """Answer the user: ask the model, do what it calls for, and ask it again."""
        self._say({"role": "user", "content": question}, "user", [{"text": question}])
        specs = ok(self.service.get(f"{self.engine}/toolSpecs", params={"memory": "tools"}))
        tools = [*specs["openai"], *(one.spec for one in self.own.values())]
        for _ in range(MAX_STEPS):
            message = self._ask(tools)
            calls = message.get("tool_calls") or []
            if not calls:
                text: str = message["content"]
                self._say(message, "agent", [{"text": text}])
                return text
            self.messages.append(message)
            for call in calls:
                self._call(call)
        raise AssertionError("the model goes on calling tools")

    def _ask(self, tools: list[Json]) -> Json:
        body = {"model": "main", "messages": self.messages, "tools": tools}
        answer = ok(httpx.post(f"{self.model}/chat/completions", json=body))
        message: Json = answer["choices"][0]["message"]
        return message

    def _call(self, call: Json) -> None:
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        if name in self.own:
            text, parts = self._use(self.own[name], arguments)
        elif name == _EXPORT:
            text = self._export(arguments)
            parts = [{"text": text}]
        else:
            text, parts = self._read(_METHODS[name], arguments)
        message = {"role": "tool", "tool_call_id": call["id"], "content": text}
        self._say(message, name, parts)

    def _use(self, tool: Tool, arguments: Mapping[str, Any]) -> tuple[str, list[Json]]:
        """Run a tool; of what it returns, the prompt shows what the service says."""
        output = tool.run(arguments)
        body = {"tool": tool.name, "activity": "run", "offPrompt": "auto", "output": output}
        answer = ok(self.service.post(f"{self._memory}:processOutput", json=body))
        return answer["promptText"], _parts(answer)

    def _read(self, method: str, arguments: Json) -> tuple[str, list[Json]]:
        """Do what the model asks of a reader."""
        place = f"{self.engine}/taskMemories/{arguments.pop('memory')}"
        path = f"{place}/namespaces/{arguments.pop('namespace')}:{method}"
        answer = ok(self.service.post(path, json=arguments))
        self.results.append(answer)
        if "promptText" in answer:
            return answer["promptText"], _parts(answer)
        text = json.dumps(
            {
                key: answer[key]
                for key in ("answer", "summary", "rows", "csv", "citations")
                if key in answer
            }
        )
        return text, [{"text": text}]

    def _export(self, arguments: Json) -> str:
        place = f"{self.engine}/taskMemories/{arguments['memory']}"
        path = f"{place}/namespaces/{arguments['namespace']}:export"
        body = {name: arguments[sent] for name, sent in _EXPORTED.items() if sent in arguments}
        if "artifact" in arguments:
            body["artifacts"] = [arguments["artifact"]]
        files = ok(self.service.post(path, json={"sink": "files", **body}))["files"]
        self.exported += [one["path"] for one in files]
        return f"{len(files)} file saved."

    def _say(self, message: Json, author: str, parts: list[Json]) -> None:
        """Tell the model in its next prompt, and the session."""
        self.messages.append(message)
        role = "user" if author == "user" else "model"
        event = {
            "author": author,
            "invocationId": f"turn-{len(self.messages)}",
            "timestamp": "2026-01-15T12:00:00Z",
            "content": {"role": role, "parts": parts},
        }
        ok(self.service.post(f"{self.session}:appendEvent", json=event))


def _parts(answer: Json) -> list[Json]:
    """Return what a session keeps of an output: the reference, where there is one."""
    if "reference" in answer:
        return [{"artifactRef": answer["reference"]}]
    return [{"text": answer["promptText"]}]
