"""Use cases of limits; the entry is `limits.py`."""
