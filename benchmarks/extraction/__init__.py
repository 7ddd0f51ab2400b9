"""How much of what questions rest on the built-in rules keep."""
