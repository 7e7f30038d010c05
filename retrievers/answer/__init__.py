"""Answers: pages as numbered sources, and the citations of an answer checked against them."""
