"""Use cases of ingestion; the entry is `ingestion.py`."""
