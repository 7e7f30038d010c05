"""Limits, retries and pauses for all calls of a model."""
