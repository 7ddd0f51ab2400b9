"""Use cases of tasks; the entry is `tasks.py`."""
