"""Finds again what was said in a session: passages word for word, or an answer made of them."""
