"""The HTTP server and the bounds of its connections; `server.py` is the entry.

`connections.py` overrides uvicorn's protocol class, which is not a public interface. So uvicorn is
pinned to one minor version; `tests/unit/test_uvicorn_contract.py` detects breaking upgrades.
"""
