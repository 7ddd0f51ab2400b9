"""Registers engines."""

from app.platform.engines.routes import children, router
from app.platform.engines.schemas import AnsweredEngine
from app.web.feature import Feature

FEATURE = Feature(
    "engines",
    routers=(children, router),
    kinds=("engines.create", "engines.update"),
    answers={"ReasoningEngine": AnsweredEngine},
)
