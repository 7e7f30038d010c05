"""Answers: asked for, judged by rules and by a model, and what their citations are worth."""
