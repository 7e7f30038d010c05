"""Conversations in the catalog's database: messages, their citations, events of running answers, and summaries."""
