"""Statements that read an engine whole."""
