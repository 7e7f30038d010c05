"""Conversations: questions that may refer to earlier ones, their answers, and a memory that a model reads."""
