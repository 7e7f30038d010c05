"""Markdown files."""
