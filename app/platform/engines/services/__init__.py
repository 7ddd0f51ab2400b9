"""Use cases of engines; the entry is `engines.py`."""
