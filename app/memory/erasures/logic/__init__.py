"""Decisions of erasures."""
