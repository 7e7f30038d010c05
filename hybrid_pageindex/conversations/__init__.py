"""Conversations: questions that may refer to earlier ones, their answers, and the memory for a model."""
