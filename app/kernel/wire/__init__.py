"""The JSON forms of the API's values, each defined once."""
