"""Runs of a set: asking, answering, judging, learning, and resuming."""
