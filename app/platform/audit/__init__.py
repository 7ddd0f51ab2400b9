"""The audit log: who did what, when, from where, and with which result."""
