"""Use cases of generation; the entry is `generation.py`."""
