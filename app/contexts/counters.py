"""Counts tokens."""
