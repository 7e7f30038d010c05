"""Parsing and building run here: processes of our own, one frame protocol, a pool that survives their death."""
