"""Use cases of usage; the entry is `usage.py`."""
