"""Providers of models; the factory alone opens them."""
