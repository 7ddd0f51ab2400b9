"""Postgres: engine, transactions, column types, and the embedded server."""
