"""`memories:retrieve`: the memories of a scope, nearest or newest first."""
