"""Erasure of a scope: everything of a person, with a certificate."""
