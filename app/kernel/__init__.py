"""Foundations that know no feature, no HTTP and no database."""
