"""The settings of the MCP endpoint, the console and task memory; parts of `Settings`."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import NoDecode

from app.kernel.names import INT64_ID
from app.kernel.tools import ToolName
from app.settings.setting_types import ApiKey, BaseUrl

_USUAL = tuple(name for name in ToolName if name is not ToolName.RECALL_CONVERSATION)
_ADDRESS = re.compile(r"https?://[^\s/?#]+(?:/[^\s?#]*)?")
_HOUR_SECONDS = 3_600.0
_DAY_SECONDS = 24 * _HOUR_SECONDS


def _tools(given: object) -> object:
    if not isinstance(given, str):
        return given
    # An empty list counts as absent, because Docker Compose passes variables without a value.
    names = [name.strip() for name in given.split(",") if name.strip()]
    unknown = next((name for name in names if name not in set(ToolName)), None)
    if unknown is not None:
        raise PydanticCustomError(
            "tools",
            "must be names of tools with commas between them, of {known}; got {given}.",
            {"known": ", ".join(ToolName), "given": unknown},
        )
    return tuple(ToolName(name) for name in dict.fromkeys(names)) or _USUAL


def _engine(given: str) -> str:
    if re.fullmatch(INT64_ID, given) is None:
        raise PydanticCustomError("engine", "must be the id of an engine, such as 1.", {})
    return given


def _address(given: str | None) -> str | None:
    if not given:
        return None
    if _ADDRESS.fullmatch(given) is None:
        raise PydanticCustomError(
            "public_url", "must be an address such as https://memory.example.com.", {}
        )
    return given.rstrip("/")


class McpSettings(BaseModel):
    """The settings of the MCP endpoint, and of the service's address."""

    mcp: bool = Field(
        default=True, description="True: MCP is served at `/mcp`; otherwise the paths are 404."
    )
    mcp_engine: Annotated[str, AfterValidator(_engine)] = Field(
        "1",
        description="Engine that `/mcp` serves to keys that are not bound to exactly one engine.",
    )
    mcp_tools: Annotated[tuple[ToolName, ...], NoDecode, BeforeValidator(_tools)] = Field(
        default=_USUAL,
        description="Tools served over MCP, with commas between their names; empty: all except"
        " `recall_conversation`.",
    )
    public_url: Annotated[str | None, AfterValidator(_address)] = Field(
        None,
        description="Address at which clients reach the service, such as"
        " `https://memory.example.com`; absent: the address that each request names.",
    )


class ConsoleSettings(BaseModel):
    """The settings of the console and of its sessions."""

    console: bool = Field(
        default=True,
        description="True: the console is served at `/console`; otherwise the path is 404.",
    )
    console_plain_http: bool = Field(
        default=False,
        description="True: the console's cookie is also sent over plain HTTP to hosts other than"
        " this machine, for a network without TLS; each page then warns of it.",
    )
    console_session_seconds: float = Field(
        8 * _HOUR_SECONDS,
        ge=60,
        le=30 * _DAY_SECONDS,
        description="Longest life of a session of the console.",
    )
    console_idle_seconds: float = Field(
        _HOUR_SECONDS,
        ge=120,
        le=30 * _DAY_SECONDS,
        description="Time without a request after which a session of the console ends.",
    )


StorableKind = Literal["text", "json", "blob"]
_MIB = 1024**2


class ReaderModel(BaseModel):
    """A model that reads stored task memory on behalf of the agent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    locality: Literal["local", "remote"]
    base_url: BaseUrl | None = None
    key: ApiKey | None = None
    max_input_tokens: int = Field(8_192, ge=1_000)
    reads: tuple[Literal["image/*"], ...] = ()
    """Files that it takes besides text."""


class TaskSettings(BaseModel):
    """The types, limits and lifetimes of task memory, and its readers."""

    task_storable: list[StorableKind] = Field(
        ["text", "json", "blob"],
        description="JSON array of the kinds of tool outputs that task memory stores.",
    )
    task_max_artifact_bytes: int = Field(64 * _MIB, ge=1, description="Longest artifact.")
    task_max_namespace_bytes: int = Field(
        512 * _MIB, ge=1, description="Greatest size of the artifacts of one namespace."
    )
    engine_max_artifact_bytes: int | None = Field(
        100 * 1024**3,
        ge=0,
        description="Greatest size of the artifacts of one engine, in all; `none`: no bound.",
    )
    task_ttl_seconds: float = Field(
        86_400, gt=0, description="Life of an artifact when nothing else sets it."
    )
    task_export_sinks: dict[str, Path] = Field(
        default_factory=dict,
        description="JSON object that maps the name of each place for exports to its folder, such"
        ' as `{"out": "/srv/out"}`.',
    )
    task_import_sources: dict[str, Path] = Field(
        default_factory=dict,
        description="JSON object that maps the name of each place for loading files to its folder,"
        ' such as `{"in": "/srv/in"}`. Every key with `artifacts.write` can load all of its files.',
    )
    task_readers: dict[str, ReaderModel] = Field(
        default_factory=dict,
        description="JSON object that maps the name of each reader model to `{model, locality,"
        ' base_url, key, max_input_tokens, reads}`. `locality` is `local` or `remote`; `"reads":'
        ' ["image/*"]`: the model reads images.',
    )

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.task_max_artifact_bytes > self.task_max_namespace_bytes:
            raise PydanticCustomError(
                "sizes",
                "MEMORY_BANK_TASK_MAX_ARTIFACT_BYTES must be at most"
                " MEMORY_BANK_TASK_MAX_NAMESPACE_BYTES.",
            )
        return self

    @model_validator(mode="after")
    def _check_folders(self) -> Self:
        # Exports of sensitive namespaces would come back without their rules.
        sinks = [sink.resolve() for sink in self.task_export_sinks.values()]
        sources = [source.resolve() for source in self.task_import_sources.values()]
        if any(
            one.is_relative_to(other) or other.is_relative_to(one)
            for one in sinks
            for other in sources
        ):
            raise PydanticCustomError(
                "folders",
                "MEMORY_BANK_TASK_IMPORT_SOURCES must not share folders with"
                " MEMORY_BANK_TASK_EXPORT_SINKS.",
            )
        return self
