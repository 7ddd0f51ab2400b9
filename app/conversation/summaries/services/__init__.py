"""Use cases of summaries; the entry is `summaries.py`."""
