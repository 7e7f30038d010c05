"""Formats without pages: blocks of flowing text, which are divided into pages."""
