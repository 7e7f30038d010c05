"""Embedders: their protocol, and a module for each kind."""
