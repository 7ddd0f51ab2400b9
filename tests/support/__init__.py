"""Builders and request helpers of the tests."""
