"""Use cases of scans; the entry is `scans.py`."""
