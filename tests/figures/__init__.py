"""Figures of the code itself: what a reader, a question and a page have to pass through. ``scripts/figures``."""
