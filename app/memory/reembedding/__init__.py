"""Vectors by another model for an engine, and vectors that could not be made in time."""
