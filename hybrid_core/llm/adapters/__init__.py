"""Adapters to the APIs of model providers, a module for each API."""
