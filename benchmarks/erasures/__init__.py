"""Benchmark of erasures."""
