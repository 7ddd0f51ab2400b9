"""Expiry, the recovery window, permanent removal and purge."""
