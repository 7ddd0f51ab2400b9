"""Registers the console."""

from app.adapters.batches import swept
from app.surfaces.console import sessions
from app.web.feature import Feature

FEATURE = Feature(
    "console", sweeps=(swept("ended sessions of the console", sessions.remove_ended),)
)
