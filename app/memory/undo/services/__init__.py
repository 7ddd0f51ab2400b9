"""Use cases of undo; the entry is `undo.py`."""
