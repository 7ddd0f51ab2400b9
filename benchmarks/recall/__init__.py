"""How good retrieval is, with no model as judge."""
