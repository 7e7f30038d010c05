"""Pages of the web, and books that are made of them."""
