"""Filters of lists and searches: AIP-160 text, its tree, and metadata filters. Knows no SQL."""
