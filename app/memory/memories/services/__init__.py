"""Use cases of memories; the entry is `memories.py`."""
