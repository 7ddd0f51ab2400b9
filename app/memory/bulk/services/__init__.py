"""Use cases of bulk; the entry is `bulk.py`."""
