"""Composition of the processes, and the commands of `memory-bank`."""
