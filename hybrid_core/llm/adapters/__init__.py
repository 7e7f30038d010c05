"""Adapters: a module for the interface of each provider."""
