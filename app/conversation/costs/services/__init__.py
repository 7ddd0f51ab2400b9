"""Use cases of costs; the entry is `costs.py`."""
