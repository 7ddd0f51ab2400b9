"""Registers the console."""

from app.adapters.resources import Sweep
from app.surfaces.console import sessions
from app.web.feature import Feature

FEATURE = Feature(
    "console",
    sweeps=(Sweep("ended sessions of the console", sessions.remove_ended),),
)
