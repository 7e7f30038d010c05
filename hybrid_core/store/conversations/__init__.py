"""Conversations in the catalog's database: messages, what they cite, events while they are made, summaries."""
