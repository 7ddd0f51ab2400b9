"""Statements that export and restore a whole engine."""
