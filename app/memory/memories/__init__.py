"""Memories: create, get, list, update, delete, roll back."""
