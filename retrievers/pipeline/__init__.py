"""The stages of a search, and the state that they pass on."""
