"""How clean memories stay: duplicates, wrong changes, contradictions, facts nobody said."""
