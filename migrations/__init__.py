"""The history of the database schema."""
