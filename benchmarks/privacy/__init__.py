"""The cost of looking for secrets and personal data."""
