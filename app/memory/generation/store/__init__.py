"""Statements on the lines that generations have read."""
