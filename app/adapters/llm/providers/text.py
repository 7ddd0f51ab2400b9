"""Text models of any vendor, through pydantic-ai. Importing this module is expensive.

The only importer of pydantic-ai, of which it uses the translation between vendors: no agent, no
retries, no downloads. A vendor's package is imported when the first of its models is opened: each
takes 20 to 40 MB.
"""

import json
import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
import structlog
from pydantic import BaseModel, SecretStr
from pydantic_ai import InlineDefsJsonSchemaTransformer, ToolDefinition
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UserError
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    InstructionPart,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UploadedFile,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings
from typing_extensions import override

from app.adapters.concurrency import offloaded
from app.adapters.llm.http import response_head_kept, retry_after_seconds
from app.adapters.llm.names import NO_KEY, ModelName, ModelSetupError
from app.adapters.llm.ports import Attachment, ChannelReply, Ending, Question
from app.adapters.llm.provider import RequestFailed, without_reply
from app.adapters.llm.words import OutputLimit, words_of
from app.kernel.errors import BadGateway, describe
from app.language.tokens import estimate_tokens
from app.settings.environment import environment
from app.settings.providers import PROVIDERS, ModelProvider
from app.settings.settings import OutputMode, Settings

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

_log = structlog.get_logger(__name__)

_NAME = "answer"
_OK = 200
_ERROR = re.compile(rb'\s*\{\s*"error"\s*:\s*[{"]')
"""The beginning of an error that a lenient client takes for an empty answer."""
_ERROR_STATUS = re.compile(r"[45]\d\d")
_NO_TAGS = ("\0", "\0/")
"""In place of `<think>`: an endless thought would pass for an answer; `parse` reads both."""
_ENDINGS = {
    "length": Ending.CUT,
    "max_tokens": Ending.CUT,
    "model_length": Ending.CUT,
    "content_filter": Ending.FILTERED,
    "refusal": Ending.REFUSED,
}
"""Reasons for the end of an answer: of pydantic-ai, and of servers that have words of their own."""
_CHECKOUT = Path(__file__).parents[4]
_MAX_TOKENS = 1_000_000_000
"""Tokens of one call; far more than any takes, and a day's sum can still be stored."""


def open_channel(
    name: ModelName,
    base_url: str | None,
    key: SecretStr | None,
    client: httpx2.AsyncClient,
    settings: Settings,
) -> "Channel":
    """Open the channel to a model. Makes no request.

    Without an address or a key, the variables of the provider's own client apply.
    """
    provider = PROVIDERS[name.provider]
    is_vendor = not provider.is_local and base_url in {None, provider.address}
    secret = key.get_secret_value() if key else None
    try:
        model = _open(name, base_url, secret, client, is_vendor=is_vendor)
    except ImportError:
        raise ModelSetupError(
            f"The model {name} needs packages that are not installed. Install them:"
            f" {_install_command(name.provider)}"
        ) from None
    except UserError:
        raise ModelSetupError(
            f"The model {name} needs an API key: set it beside the model's name, such as by"
            " MEMORY_BANK_MODEL_KEY, or set the variable of its provider."
        ) from None
    return Channel(model, settings, provider, is_vendor=is_vendor)


def _install_command(extra: str) -> str:
    if (_CHECKOUT / "Makefile").exists():
        return f"make -C {_CHECKOUT} vendors"
    return f'{sys.executable} -m pip install "open-memory-bank[{extra}]"'


def _open(
    name: ModelName,
    base_url: str | None,
    key: str | None,
    http: httpx2.AsyncClient,
    *,
    is_vendor: bool,
) -> Model:
    match name.provider:
        case "anthropic":
            opened: Model = _anthropic(name.model, base_url, key, http)
        case "google":
            opened = _google(name.model, base_url, key, http)
        case "openai" if is_vendor:
            opened = _openai(name.model, base_url, key, http)
        case "openai":
            opened = _compatible(name.model, _server(base_url, key, http))
        case "ollama":
            opened = _compatible(name.model, _ollama(base_url, key, http))
        case _:
            # A key must never reach another vendor.
            raise NotImplementedError(name.provider)
    return opened


def _anthropic(
    model: str, base_url: str | None, key: str | None, http: httpx2.AsyncClient
) -> Model:
    from anthropic import AsyncAnthropic  # noqa: PLC0415 - as the module says
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - as above
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - as above

    client = AnthropicProvider(api_key=key, base_url=base_url, http_client=http).client
    assert isinstance(client, AsyncAnthropic)
    return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=_plain(client)))


def _google(model: str, base_url: str | None, key: str | None, http: httpx2.AsyncClient) -> Model:
    from google.genai.types import HttpRetryOptions  # noqa: PLC0415 - as the module says
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - as above
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415 - as above

    once = HttpRetryOptions(attempts=1)
    provider = GoogleProvider(api_key=key, base_url=base_url, http_client=http, retry_options=once)
    return GoogleModel(model, provider=provider)


def _openai(model: str, base_url: str | None, key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - as the module says
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - as above

    client = OpenAIProvider(base_url, key, http_client=http).client
    return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=_plain(client)))


def _compatible(model: str, server: "OllamaProvider | OpenAICompatibleProvider") -> Model:
    """Open a model of a server that speaks OpenAI's protocol and is not OpenAI's."""
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - as the module says

    known = server.model_profile(model) or {}
    profile = OpenAIModelProfile(
        # They know the older `max_tokens`, except for OpenAI's reasoning models behind a proxy.
        openai_chat_supports_max_completion_tokens=bool(known.get("openai_supports_reasoning")),
        openai_supports_strict_tool_definition=False,
        thinking_tags=_NO_TAGS,
    )
    return OpenAIChatModel(model, provider=server, profile=profile)


def _server(
    base_url: str | None, key: str | None, http: httpx2.AsyncClient
) -> "OpenAICompatibleProvider":
    """Open any server with OpenAI's protocol; no variable of OpenAI's client reaches it."""
    from pydantic_ai.providers.openai_compatible import (  # noqa: PLC0415 - as the module says
        OpenAICompatibleProvider,
    )

    assert base_url is not None
    compatible = "openai-compatible"
    client = OpenAICompatibleProvider(
        compatible, base_url=base_url, api_key=key or NO_KEY, http_client=http
    ).client
    return OpenAICompatibleProvider(compatible, openai_client=_apart(client))


def _ollama(base_url: str | None, key: str | None, http: httpx2.AsyncClient) -> "OllamaProvider":
    from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415 - as the module says

    try:
        client = OllamaProvider(base_url, key, http_client=http).client
    except UserError:
        client = OllamaProvider(PROVIDERS["ollama"].address, key, http_client=http).client
    return OllamaProvider(openai_client=_apart(client))


def _apart(client: "AsyncOpenAI") -> "AsyncOpenAI":
    """Return a client that sends nothing of what the variables of OpenAI's client are for."""
    from openai import Omit  # noqa: PLC0415 - as the module says

    lines = environment().get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    names = [line.partition(":")[0].strip() for line in lines]
    kept = {"authorization": f"Bearer {client.api_key}"}
    headers: dict[str, Any] = {name: kept.get(name.lower(), Omit()) for name in names if name}
    apart = _plain(client.with_options(default_headers=headers))
    apart.organization = apart.project = None
    return apart


_ClientT = TypeVar("_ClientT", "AsyncOpenAI", "AsyncAnthropic")


def _plain(client: _ClientT) -> _ClientT:
    """Return a client that repeats nothing, and sends the query of its address every time."""
    # One of the clients puts a slash behind the query.
    url = httpx2.URL(str(client.base_url).rstrip("/"))
    # Azure does not take its keys as a bearer's.
    headers = {"api-key": client.api_key or ""} if "api-version" in url.params else {}
    return client.with_options(
        base_url=url.copy_with(query=None),
        default_query=dict(url.params),
        default_headers=headers,
        max_retries=0,
    )


class Channel:
    """The channel to one model at one provider.

    Attributes:
        limit: the longest answer by the settings.
        media_types: media types of files that it reads; patterns such as `image/*`.
        schemes: URI schemes of image references that the provider fetches.
        modes: the output modes that it supports, the most reliable first.
    """

    def __init__(
        self, model: Model, settings: Settings, provider: ModelProvider, *, is_vendor: bool
    ) -> None:
        self._model, self._provider = model, provider
        limit_name = _limit_name(model) if provider.speaks_openai else None
        self.limit = OutputLimit(settings.model_max_output_tokens, limit_name)
        # Elsewhere, a strict schema would only be longer.
        self._is_strict = True if is_vendor and provider.needs_strict_schema else None
        default = provider.media_types if is_vendor else ()
        chosen = settings.model_media_types
        self.media_types: Sequence[str] = default if chosen is None else chosen
        # A self-hosted server would fetch from the operator's own network.
        self.schemes: Sequence[str] = provider.fetched_schemes if is_vendor else ()
        self.modes = _modes(model, settings.model_output)

    async def send(self, question: Question, mode: OutputMode, limit: OutputLimit) -> ChannelReply:
        """Make one request; raise `RequestFailed` or `BadGateway` if there is no reply."""
        instructions, text = _texts(question, mode)
        parameters = self._parameters(question, mode, instructions)
        attachments = question.prompt.attachments
        length = sum(len(attachment.data or b"") for attachment in attachments)
        files = await offloaded(length, lambda: [*map(self._file, attachments)])
        request = ModelRequest([UserPromptPart([text, *files] if files else text)])
        with response_head_kept() as response_head:
            try:
                response = await model_request(
                    self._model,
                    [request],
                    model_settings=_settings(limit),
                    model_request_parameters=parameters,
                )
            except Exception as error:  # noqa: BLE001 - a reply that is none ends in errors of any kind
                if not isinstance(error, ModelAPIError):
                    _log.warning("model.reply_unreadable", error=describe(error))
                failed = _failure(error)
            else:
                reply = _to_said(response, question)
                if reply.text or not _ERROR.match(response_head.content):
                    return reply
                failed = RequestFailed(_OK)
        if isinstance(failed, RequestFailed) and response_head.content:
            prompt = question.prompt
            uris = [attachment.uri for attachment in prompt.attachments if attachment.uri]
            texts = [prompt.instructions, question.text, *uris]
            failed.words = said = await words_of(response_head, texts, self._model.model_name)
            if failed.status == _OK and said.code and _ERROR_STATUS.fullmatch(said.code):
                # Proxies put the status of an upstream there.
                failed.status = int(said.code)
        raise failed

    def _parameters(
        self, question: Question, mode: OutputMode, instructions: str
    ) -> ModelRequestParameters:
        schema = small_schema(question.output)
        parts = [InstructionPart(content=instructions)] if instructions else None
        parameters = ModelRequestParameters(output_mode="text", instruction_parts=parts)
        if mode is OutputMode.NATIVE:
            parameters.output_mode = "native"
            parameters.output_object = OutputObjectDefinition(
                schema, name=_NAME, strict=self._is_strict
            )
        if mode is OutputMode.TOOL:
            parameters.output_mode = "tool"
            parameters.allow_text_output = False
            parameters.output_tools = [
                ToolDefinition(name=_NAME, parameters_json_schema=schema, kind="output")
            ]
        return parameters

    def _file(self, attachment: Attachment) -> UserContent:
        if attachment.data is not None:
            content = BinaryContent(attachment.data, media_type=attachment.media_type)
            if not content.is_image or not self._provider.speaks_openai:
                return content
            # The same as the client would send, but encoded in the thread of this call.
            return ImageUrl(content.data_uri, media_type=attachment.media_type)
        uri = attachment.uri or ""
        if name := self._provider.uploads_as:
            # This process would download an address.
            return UploadedFile(uri, provider_name=name, media_type=attachment.media_type)
        return ImageUrl(uri, media_type=attachment.media_type)


def _texts(question: Question, mode: OutputMode) -> tuple[str, str]:
    """Return the instructions and the user's text; without instructions, all is in the text."""
    instructions, text = question.prompt.instructions, question.text
    if mode is OutputMode.PROMPT:
        schema = small_schema(question.output)
        shape = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
        shape = f"\n\nAnswer with one JSON object alone, of this JSON schema:\n{shape}"
        return (instructions + shape, text) if instructions else ("", text + shape)
    return instructions, text


class _Small(InlineDefsJsonSchemaTransformer):
    @override
    def transform(self, schema: dict[str, Any]) -> dict[str, Any]:
        has_docstring = schema.get("type") == "object" or "enum" in schema
        dropped = {"title", "default", "description" if has_docstring else ""}
        return {key: value for key, value in schema.items() if key not in dropped}


@lru_cache(64)
def small_schema(output: type[BaseModel]) -> dict[str, Any]:
    """Return the schema without titles, defaults and docstrings, and with references resolved.

    Descriptions of fields other than objects stay: they are written for the model. The caller must
    not change the result.
    """
    return _Small(output.model_json_schema()).walk()


def _modes(model: Model, chosen: OutputMode) -> tuple[OutputMode, ...]:
    if chosen is not OutputMode.AUTO:
        return (chosen,)
    can = {
        OutputMode.NATIVE: model.profile.get("supports_json_schema_output", False),
        OutputMode.TOOL: model.profile.get("supports_tools", True),
        OutputMode.PROMPT: True,
    }
    return tuple(mode for mode, is_able in can.items() if is_able)


def _limit_name(model: Model) -> str:
    is_new = model.profile.get("openai_chat_supports_max_completion_tokens", True)
    return "max_completion_tokens" if is_new else "max_tokens"


def _settings(limit: OutputLimit) -> ModelSettings:
    if limit.name is None:
        return ModelSettings(max_tokens=limit.tokens)
    return ModelSettings(extra_body={limit.name: limit.tokens})


def _failure(error: Exception) -> RequestFailed | BadGateway:
    if isinstance(error, ModelHTTPError):
        asked = retry_after_seconds(error.headers or {})
        return RequestFailed(error.status_code, error.retry_after if asked is None else asked)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, httpx2.TransportError):
            return without_reply(cause)
        cause = cause.__cause__
    # For a redirection, which is not followed, only the vendor's own error has the status.
    return RequestFailed(getattr(error.__cause__, "status_code", _OK))


def _to_said(response: ModelResponse, question: Question) -> ChannelReply:
    """Return the arguments of the tool call (a list if many), else the text, else the thoughts."""
    ending = _ending(response)
    calls = [part.args_as_json_str() for part in response.parts if isinstance(part, ToolCallPart)]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    text = f"[{','.join(calls)}]" if len(calls) > 1 else "\n".join(calls or texts)
    if not text.strip() and ending is Ending.WHOLE:
        # Some servers take all for a thought. One that is cut off holds drafts at most.
        text = "\n".join(p.content for p in response.parts if isinstance(p, ThinkingPart))
    read = believed_tokens(response.usage.input_tokens)
    written = believed_tokens(response.usage.output_tokens)
    if not read and not written:
        schema = json.dumps(small_schema(question.output))
        sent = question.prompt.instructions + question.text + schema
        read = estimate_tokens(sent) + question.prompt.image_tokens
        written = estimate_tokens(text)
    return ChannelReply(text, read, written, ending)


def _ending(response: ModelResponse) -> Ending:
    details = response.provider_details or {}
    if details.get("refusal"):
        return Ending.REFUSED
    own = _ENDINGS.get(str(details.get("finish_reason")))
    return own or _ENDINGS.get(response.finish_reason or "", Ending.WHOLE)


def believed_tokens(reported: int) -> int:
    """Return the tokens that a provider reports, limited to a possible number."""
    return min(max(reported, 0), _MAX_TOKENS)
