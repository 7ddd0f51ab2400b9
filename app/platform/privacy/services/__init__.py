"""Use cases of privacy; the entry is `privacy.py`."""
