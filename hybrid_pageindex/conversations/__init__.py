"""Conversations: their questions, turns and memory."""
