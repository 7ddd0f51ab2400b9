"""Finds what an id, a name or the value of a scope stands for."""
