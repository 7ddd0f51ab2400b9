"""Upkeep: the sweeps, and the deletion of an engine with all that it holds."""
