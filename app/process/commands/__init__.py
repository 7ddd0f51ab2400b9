"""The commands of `memory-bank`, one a module."""
