"""Conversations: what a turn knows of what was said, how it is made and kept, and how it is told."""
