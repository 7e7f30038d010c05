"""Judges of answers: rules, a model, and how far they agree with people."""
