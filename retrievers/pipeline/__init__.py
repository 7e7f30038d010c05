"""The stages of a search in a row, and the state that they hand on."""
