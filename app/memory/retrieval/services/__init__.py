"""Use cases of retrieval; the entry is `retrieval.py`.

A search takes one of two paths, equal in what they answer:

- `search.py`, the reference path: with any filter, in a transaction, by the index of a large scope;
- `fast_search.py`, the fast path: without filters or index, by statements past the session.

Both have `by_distance` and `by_everything`, one for each ranking. `retrieval.py` takes the fast
path where it applies, and else, or if the engine has changed meanwhile, the reference path.
"""
