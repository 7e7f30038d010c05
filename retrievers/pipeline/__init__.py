"""The stages of a search, and the state that they pass from one to the next."""
