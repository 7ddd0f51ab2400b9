"""Checks that a database is whole."""
