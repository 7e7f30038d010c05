"""The order of pages: the ranking model, the walk down the section trees, and which pages are returned."""
