"""Use cases of operations; the entry is `operations.py`."""
