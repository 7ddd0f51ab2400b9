"""Use cases of recall; the entry is `recall.py`."""
