"""The name of the built-in rules, for what they have written."""

ENGINE = "builtin-rules/2"
