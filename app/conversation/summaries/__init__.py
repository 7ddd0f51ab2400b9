"""Summaries of sessions: scheduling, writing, storage and lookups."""
