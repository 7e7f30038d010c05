"""Answers: pages as numbered sources, and the check of an answer's citations against them."""
