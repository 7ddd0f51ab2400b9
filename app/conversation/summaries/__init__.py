"""Summaries of sessions: when one is due, how it is made, and what there are."""
