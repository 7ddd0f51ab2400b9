"""Use cases of retrieval; the entry is `retrieval.py`.

A search takes one of two paths, with equal results:

- `search.py`, the reference path: any filter, a transaction, the index of a large scope;
- `fast_search.py`, the fast path: no filters, no index, statements outside the session.

Both have `by_distance` and `by_everything`, one for each ranking. `retrieval.py` tries the fast
path where it applies. Otherwise, or if the engine has changed, it takes the reference path.
"""
