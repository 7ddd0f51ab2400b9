"""Use cases of sessions; the entry is `sessions.py`."""
