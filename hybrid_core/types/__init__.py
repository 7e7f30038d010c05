"""Shared types: frozen values that pass between packages."""
