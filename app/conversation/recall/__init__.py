"""Search in a session: passages word for word, or an answer made from them."""
