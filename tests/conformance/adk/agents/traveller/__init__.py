"""An agent in a folder of agents, as `adk` finds it."""
