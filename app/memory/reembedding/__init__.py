"""Vectors of another model for an engine, and those that could not be made in time."""
