"""The release of this service."""

from importlib.metadata import version

RELEASE = version("open-memory-bank")
