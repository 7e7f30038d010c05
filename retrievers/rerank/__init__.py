"""A closer look at the best pages: phrases, tokens, variety."""
