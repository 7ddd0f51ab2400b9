"""Postgres from the service's side: the pool, transactions, column types, filters, migrations."""
