"""Answers: pages as sources, pictures of some, more that the model asks to read, and what it says checked."""
