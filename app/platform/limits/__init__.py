"""Rates, places and quotas: how much a key and an engine may use."""
