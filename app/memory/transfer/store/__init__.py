"""Statements that read an engine whole, and that write it again."""
