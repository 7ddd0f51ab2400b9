"""Estimate what contexts cost under each strategy, in tokens and money."""

import json
import re
import sys
from collections.abc import Mapping
from typing import Annotated, Any, NoReturn

import typer
from pydantic import ValidationError

from app.adapters.terminal import MISUSED, fail
from app.conversation.costs import service
from app.conversation.costs.schemas import EstimateContextCostsRequest
from app.conversation.costs.service import estimate
from app.kernel.errors import InvalidArgument
from app.kernel.wire.violations import invalid_fields

_MAX_DIGITS = 18
"""Largest number of digits of a whole number; longer numbers are not parsed."""
_PRICES = ("inputPer1k", "outputPer1k", "summaryInputPer1k", "summaryOutputPer1k")
_OPTIONS = {
    "messages": "--messages",
    "messageTokens": "--message-tokens",
    "systemTokens": "--system-tokens",
    "summaryTokens": "--summary-tokens",
    "summaryOverheadTokens": "--summary-overhead-tokens",
    "prices": "--prices",
    "models": "--model-prices",
    "model": "--model",
    "summaryModel": "--summary-model",
    "contextWindow": "--context-window",
    "strategies": "--strategy",
    "accounting": "--accounting",
    "findBestCap": "--best-cap",
}
"""The option that sets each field of a request."""

_Messages = Annotated[
    list[int] | None,
    typer.Option(help="Length of a session in messages; repeatable.", show_default="30, 100, 1000"),
]
_MessageTokens = Annotated[
    str | None,
    typer.Option(
        help="Tokens of a message and its answer together, or USER,ASSISTANT separately.",
        show_default="100",
    ),
]
_SystemTokens = Annotated[
    int | None, typer.Option(help="Tokens of the system prompt.", show_default="400")
]
_SummaryTokens = Annotated[
    int | None, typer.Option(help="Tokens of a summary.", show_default="250")
]
_OverheadTokens = Annotated[
    int | None,
    typer.Option(help="Tokens of the summariser's instructions.", show_default="30"),
]
_PlainPrices = Annotated[
    str | None,
    typer.Option(
        metavar="IN,OUT[,IN,OUT]",
        help="Prices of a thousand tokens of prompts and answers, and of summaries.",
        show_default="0.002",
    ),
]
_ModelPrices = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL=IN,OUT", help="Prices of a model; repeatable."),
]
_Model = Annotated[str | None, typer.Option(help="The model that answers.")]
_SummaryModel = Annotated[
    str | None, typer.Option(help="The model that summarises, or builtin; absent: the same.")
]
_Window = Annotated[
    int | None, typer.Option(help="Tokens of the context window, for a prompt and its answer.")
]
_Strategies = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[:SETTING=VALUE,...]",
        help="A strategy such as every_n:every=5, or a policy as JSON; repeatable.",
    ),
]
_Accounting = Annotated[
    str | None,
    typer.Option(help="per_prompt, or published_tables to compare with published tables."),
]
_BestCap = Annotated[bool, typer.Option("--best-cap", help="Also find the cheapest cap.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, as the API answers.")]


def run(  # noqa: PLR0913 - one parameter for each option: typer reads them
    *,
    messages: _Messages = None,
    message_tokens: _MessageTokens = None,
    system_tokens: _SystemTokens = None,
    summary_tokens: _SummaryTokens = None,
    summary_overhead_tokens: _OverheadTokens = None,
    prices: _PlainPrices = None,
    model_prices: _ModelPrices = None,
    model: _Model = None,
    summary_model: _SummaryModel = None,
    context_window: _Window = None,
    strategy: _Strategies = None,
    accounting: _Accounting = None,
    best_cap: _BestCap = False,
    as_json: _AsJson = False,
) -> None:
    given = {
        "messages": messages,
        "messageTokens": message_tokens and _message_tokens(message_tokens),
        "systemTokens": system_tokens,
        "summaryTokens": summary_tokens,
        "summaryOverheadTokens": summary_overhead_tokens,
        "prices": prices and _plain_prices(prices),
        "models": dict(_priced(text) for text in model_prices or []) or None,
        "model": model,
        "summaryModel": summary_model,
        "contextWindow": context_window,
        "strategies": [_strategy(text) for text in strategy or []] or None,
        "accounting": accounting,
        "findBestCap": best_cap,
    }
    _show({name: value for name, value in given.items() if value is not None}, as_json=as_json)


def _message_tokens(text: str) -> Any:  # noqa: ANN401 - what the API takes
    user, comma, assistant = text.partition(",")
    return {"user": user, "assistant": assistant} if comma else _number(text)


def _plain_prices(text: str) -> Mapping[str, str]:
    listed = text.split(",")
    if len(listed) > len(_PRICES):
        fail(f"--prices: must be at most {len(_PRICES)} prices.", MISUSED)
    return dict(zip(_PRICES, listed, strict=False))


def _priced(text: str) -> tuple[str, Mapping[str, str]]:
    # A model's name may contain any character; prices contain no "=".
    name, _, amounts = text.rpartition("=")
    listed = amounts.split(",")
    if not name or len(listed) != 2:
        fail("--model-prices: must be MODEL=INPUT,OUTPUT.", MISUSED)
    return name, dict(zip(_PRICES[:2], listed, strict=True))


def _strategy(text: str) -> Any:  # noqa: ANN401 - what the API takes
    if text.startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            fail("--strategy: must be JSON.", MISUSED)
    name, _, settings = text.partition(":")
    pairs = [setting.partition("=") for setting in settings.split(",") if setting]
    return {"strategy": name} | {key: _number(value) for key, _, value in pairs}


def _number(text: str) -> int | str:
    is_whole = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text) if is_whole else text


def _refuse(error: InvalidArgument) -> NoReturn:
    for violation in error.violations:
        option = _OPTIONS.get(re.split(r"[.\[]", violation.field)[0], violation.field)
        place = "" if violation.field in _OPTIONS else f" ({violation.field})"
        fail(f"{option}{place}: {violation.description}", MISUSED)
    fail(error.message, MISUSED)


def _show(given: Mapping[str, Any], *, as_json: bool) -> None:
    try:
        response = estimate(EstimateContextCostsRequest.model_validate(given))
    except ValidationError as error:
        _refuse(invalid_fields(error.errors(), EstimateContextCostsRequest))
    except InvalidArgument as error:
        _refuse(error)
    if as_json:
        json.dump(response.wire(), sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    notes = dict.fromkeys([response.note, *(row.note for row in response.rows)])
    typer.echo("\n\n".join([service.table(response), *filter(None, notes)]))
