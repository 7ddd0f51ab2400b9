"""Use cases of access; the entry is `access.py`."""
