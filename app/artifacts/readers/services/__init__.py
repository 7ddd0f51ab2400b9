"""Use cases of readers; the entry is `readers.py`."""
