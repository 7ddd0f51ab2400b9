"""The format of archives, `open-memory-bank/1`: lines, digests, order; pure functions."""
