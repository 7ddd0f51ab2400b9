"""Imports of memories from other products, as clients of the API."""
