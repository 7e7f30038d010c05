"""Runs of a data set: asking, answering, judging, learning, and resuming."""
