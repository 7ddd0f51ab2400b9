"""The audit log: who did what, when, from where, and what it came to."""
