"""Formats without pages: blocks of flowing text, and the pages cut from them."""
