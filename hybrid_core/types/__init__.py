"""The vocabulary: frozen values that pass between rooms."""
