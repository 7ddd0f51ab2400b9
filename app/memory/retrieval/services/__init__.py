"""Use cases of retrieval; the entry is `retrieval.py`."""
