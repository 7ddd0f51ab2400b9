"""How the service starts: composition, and the commands of `memory-bank`."""
