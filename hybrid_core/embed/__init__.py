"""Embedders: the protocol, and one file for each kind."""
