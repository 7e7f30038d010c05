"""A language model reads the section trees of the candidate documents, and names the pages that answer."""
