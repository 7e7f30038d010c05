"""Clients of models. Nothing here imports a model's library before that model is chosen."""
