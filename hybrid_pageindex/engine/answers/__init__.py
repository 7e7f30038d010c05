"""Answers: pages as sources, a model's reply, and its citations checked."""
