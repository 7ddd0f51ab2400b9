"""Use cases of reembedding; the entry is `reembedding.py`."""
