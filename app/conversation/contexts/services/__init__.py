"""Use cases of contexts; the entry is `contexts.py`."""
