"""Route of cost estimates; the method is this service's own."""

import asyncio

from app.adapters.llm.models import check_counter
from app.adapters.resources import Resources
from app.conversation.costs.schemas import EstimateContextCostsRequest, EstimateContextCostsResponse
from app.conversation.costs.service import ConfiguredPrices, estimate
from app.kernel.permissions import Permission
from app.kernel.wire.memory_policy import BUILTIN
from app.platform.engines.store import repository as engines
from app.web.context import Context
from app.web.demands import WORK, Demand
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "contexts",
    demands={
        "estimateContextCosts": Demand(Permission.ENGINES_GET, WORK, is_costly=True),
    },
)


@router.post(
    ENGINE + "/contextCosts:estimate",
    summary="Estimate the cost of contexts",
    operation_id="estimateContextCosts",
)
async def estimate_context_costs(
    context: Context, name: EnginePath, body: EstimateContextCostsRequest | None = None
) -> EstimateContextCostsResponse:
    """Estimate the cost of strategies in tokens and money; nothing is read or stored.

    Each prompt is paid for once, with its system prompt and the summaries and messages that the
    strategy shows. Each summary is paid for once, too. Nothing is left out to fit the window: the
    response names the first message that does not fit.
    """
    resources, asked = context.resources, body or EstimateContextCostsRequest()
    for place, policy in enumerate(asked.strategies):
        if policy.counter is not None:
            check_counter(policy.counter, resources.settings, f"strategies[{place}].counter")
    async with resources.db.snapshot() as session:
        await engines.get(session, name)
    # Long sessions take a while, so this runs in a thread.
    if asked.configured_prices:
        return await asyncio.to_thread(_configured(resources).estimate, asked)
    return await asyncio.to_thread(estimate, asked)


def _configured(resources: Resources) -> ConfiguredPrices:
    settings, models = resources.settings, resources.models
    return ConfiguredPrices(
        settings.model_prices,
        {name: model.model_id for name, model in models.aliases.items()},
        BUILTIN if models.default is None else models.default.model_id,
        settings.price_currency,
    )
