"""Archives: their members, and a page that lists them."""
