"""Runs shown to people and programs."""
