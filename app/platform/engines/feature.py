"""Registers engines."""

from app.adapters.resources import Archived
from app.platform.engines.routes import children, router
from app.platform.engines.schemas import AnsweredEngine, ArchivedEngine
from app.web.feature import Feature

FEATURE = Feature(
    "engines",
    routers=(children, router),
    kinds=("engines.create", "engines.update"),
    answers={"ReasoningEngine": AnsweredEngine},
    archived=Archived({"engine": ArchivedEngine}),
)
